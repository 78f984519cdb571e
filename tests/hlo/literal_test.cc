#include "hlo/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace smelt::hlo {
namespace {

TEST(Literal, StartsZeroAndAligned) {
  for (int64_t count : {0, 1, 7, 100000}) {
    Literal literal(Shape::Array(PrimitiveType::kF32, {count}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(literal.raw()) % 64, 0);
    for (float value : literal.data<float>()) ASSERT_EQ(value, 0);
  }
}

TEST(Literal, CopiesAreIndependent) {
  Literal a = Literal::FromValues<int32_t>(PrimitiveType::kS32, {3}, {1, 2, 3});
  Literal b = a;
  b.SetInteger(1, 9);
  EXPECT_EQ(a.GetInteger(1), 2);
  EXPECT_EQ(b.GetInteger(1), 9);
  EXPECT_FALSE(a == b);
  b = a;
  EXPECT_TRUE(a == b);
}

TEST(Literal, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(Literal::Create(Shape::Array(PrimitiveType::kF32, {int64_t{1} << 62})).ok());
  EXPECT_FALSE(Literal::Create(Shape::Array(PrimitiveType::kF32, {1000}), 3999).ok());
  EXPECT_TRUE(Literal::Create(Shape::Array(PrimitiveType::kF32, {1000}), 4000).ok());
  EXPECT_FALSE(Literal::Create(Shape::Tuple({Shape::Array(PrimitiveType::kF64, {1 << 20, 1 << 20, 1 << 20})})).ok());
}

TEST(Literal, ConvertsBothWaysForEveryArrayType) {
  for (int i = 0; i < static_cast<int>(PrimitiveType::kTuple); ++i) {
    const auto type = static_cast<PrimitiveType>(i);
    Literal literal(Shape::Array(type, {2}));
    literal.SetDouble(1, 1);
    if (type == PrimitiveType::kS1) {
      EXPECT_EQ(literal.GetDouble(1), -1);  // the only other value of one signed bit
    } else {
      EXPECT_EQ(literal.GetDouble(1), 1) << PrimitiveTypeName(type);
      EXPECT_EQ(literal.GetInteger(1), 1) << PrimitiveTypeName(type);
    }
  }
}

TEST(Literal, NarrowIntegersWrapAndKeepTheirSign) {
  Literal s4(Shape::Array(PrimitiveType::kS4, {1}));
  s4.SetInteger(0, 9);
  EXPECT_EQ(s4.GetInteger(0), -7);
  Literal u2(Shape::Array(PrimitiveType::kU2, {1}));
  u2.SetInteger(0, 7);
  EXPECT_EQ(u2.GetInteger(0), 3);
}

TEST(Literal, DoublesOutsideTheIntegerRangeSaturate) {
  Literal literal(Shape::Array(PrimitiveType::kU64, {2}));
  literal.SetDouble(0, 1e30);
  literal.SetDouble(1, -5);
  EXPECT_EQ(literal.data<uint64_t>()[0], std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(literal.data<uint64_t>()[1], 0);
}

TEST(Literal, UniformLooksAtBits) {
  EXPECT_TRUE(Literal::FromValues<float>(PrimitiveType::kF32, {3}, {2, 2, 2}).IsUniform());
  EXPECT_FALSE(Literal::FromValues<float>(PrimitiveType::kF32, {2}, {0.0f, -0.0f}).IsUniform());
}

TEST(Literal, TuplesKnowTheirShape) {
  std::vector<Literal> elements;
  elements.push_back(Literal(Shape::Scalar(PrimitiveType::kPred)));
  elements.push_back(Literal(Shape::Array(PrimitiveType::kF32, {2})));
  Literal tuple = Literal::Tuple(std::move(elements));
  EXPECT_EQ(tuple.shape().ToString(), "(pred[], f32[2])");
  EXPECT_EQ(tuple.elements()[1].element_count(), 2);
}

}  // namespace
}  // namespace smelt::hlo
