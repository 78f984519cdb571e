#include "kernels/te/evaluate.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::kernels::te {
namespace {

using hlo::Literal;
using testing::ElementsAre;
using testing::HasSubstr;

Scalar F(double value) { return {.f = value}; }
Scalar I(int64_t value) { return {.i = value}; }

TEST(Scalar, IntegersHaveTheSemanticsOfHlo) {
  const auto s8 = [](BinaryOp op, int64_t a, int64_t b) {
    return EvaluateBinary(op, PrimitiveType::kS8, I(a), I(b)).i;
  };
  EXPECT_EQ(s8(BinaryOp::kAdd, 120, 10), -126);
  EXPECT_EQ(s8(BinaryOp::kDiv, 5, 0), -1);
  EXPECT_EQ(s8(BinaryOp::kRem, 5, 0), 5);
  EXPECT_EQ(s8(BinaryOp::kDiv, -128, -1), -128);
  EXPECT_EQ(s8(BinaryOp::kRem, -128, -1), 0);
  EXPECT_EQ(s8(BinaryOp::kDiv, -7, 2), -3);
  EXPECT_EQ(s8(BinaryOp::kShiftLeft, 1, 8), 0);
  EXPECT_EQ(s8(BinaryOp::kShiftRightArithmetic, -128, 9), -1);
  EXPECT_EQ(s8(BinaryOp::kShiftRightLogical, -128, 7), 1);
  EXPECT_EQ(s8(BinaryOp::kShiftLeft, 1, -1), 0);
  EXPECT_EQ(s8(BinaryOp::kPower, 2, -1), 0);
  EXPECT_EQ(s8(BinaryOp::kPower, -1, -3), -1);
  EXPECT_EQ(s8(BinaryOp::kPower, 3, 4), 81);
  EXPECT_EQ(EvaluateBinary(BinaryOp::kDiv, PrimitiveType::kU8, I(5), I(0)).i, 255);
  EXPECT_EQ(EvaluateUnary(UnaryOp::kClz, PrimitiveType::kS16, I(1)).i, 15);
  EXPECT_EQ(EvaluateUnary(UnaryOp::kPopcount, PrimitiveType::kS8, I(-1)).i, 8);
  EXPECT_TRUE(EvaluateCompare(CompareOp::kGt, PrimitiveType::kU64, I(-1), I(1)));
}

TEST(Scalar, FloatsHaveTheSemanticsOfHlo) {
  const double nan = std::nan("");
  EXPECT_TRUE(std::isnan(EvaluateBinary(BinaryOp::kMax, PrimitiveType::kF32, F(nan), F(1)).f));
  EXPECT_TRUE(std::isnan(EvaluateBinary(BinaryOp::kMin, PrimitiveType::kF32, F(1), F(nan)).f));
  EXPECT_FALSE(EvaluateCompare(CompareOp::kEq, PrimitiveType::kF32, F(nan), F(nan)));
  EXPECT_TRUE(EvaluateCompare(CompareOp::kNe, PrimitiveType::kF32, F(nan), F(nan)));
  EXPECT_EQ(EvaluateUnary(UnaryOp::kRoundEven, PrimitiveType::kF32, F(2.5)).f, 2);
  EXPECT_EQ(EvaluateUnary(UnaryOp::kRoundAfz, PrimitiveType::kF32, F(2.5)).f, 3);
  EXPECT_TRUE(std::signbit(EvaluateUnary(UnaryOp::kSign, PrimitiveType::kF32, F(-0.0)).f));
  EXPECT_EQ(EvaluateCast(PrimitiveType::kF32, PrimitiveType::kS32, F(3e10)).i, INT32_MAX);
  EXPECT_EQ(EvaluateCast(PrimitiveType::kF32, PrimitiveType::kU8, F(-1)).i, 0);
  EXPECT_EQ(EvaluateCast(PrimitiveType::kF32, PrimitiveType::kS64, F(nan)).i, 0);
  EXPECT_EQ(EvaluateCast(PrimitiveType::kF64, PrimitiveType::kBF16, F(1.00390625)).f, 1);  // ties to even
  EXPECT_EQ(EvaluateBitCast(PrimitiveType::kF32, PrimitiveType::kS32, F(1)).i, 0x3f800000);
  EXPECT_EQ(EvaluateBinary(BinaryOp::kAdd, PrimitiveType::kF16, F(60000), F(60000)).f,
            std::numeric_limits<double>::infinity());
}

TEST(Scalar, ElementsKeepTheirValueThroughMemory) {
  for (auto [type, value] : {std::pair{PrimitiveType::kS4, -8},
                             {PrimitiveType::kU16, 65535},
                             {PrimitiveType::kS64, -5},
                             {PrimitiveType::kPred, 1},
                             {PrimitiveType::kU8, 200}}) {
    unsigned char memory[16] = {};
    StoreElement(type, memory, 1, I(value));
    EXPECT_EQ(LoadElement(type, memory, 1).i, value);
  }
  for (PrimitiveType type : {PrimitiveType::kF64, PrimitiveType::kF32, PrimitiveType::kF16, PrimitiveType::kBF16,
                             PrimitiveType::kF8E5M2, PrimitiveType::kF8E4M3FN}) {
    unsigned char memory[16] = {};
    StoreElement(type, memory, 1, F(-1.5));
    EXPECT_EQ(LoadElement(type, memory, 1).f, -1.5);
  }
}

TEST(Evaluate, ReductionsStartFromTheirInitialValue) {
  Tensor a = Placeholder("a", {2, 3}, PrimitiveType::kF32);
  ReduceAxis k(3, "k");
  Tensor c = Compute("c", {2}, [&](Indices i) {
    return Reduce(SimpleCombiner(BinaryOp::kMax, PrimitiveType::kF32), a(i[0], k), {k},
                  FloatConst({PrimitiveType::kF32, 1}, 4));
  });
  Literal input = Literal::FromValues<float>(PrimitiveType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6});
  auto result = Evaluate(MakeGraph({a}, {c}), {&input});
  ASSERT_TRUE(result.ok());
  EXPECT_THAT((*result)[0].data<float>(), ElementsAre(4, 6));
}

TEST(Evaluate, OnlyChosenSidesOfAnIfAreRead) {
  Tensor a = Placeholder("a", {3}, PrimitiveType::kF32);
  const auto shifted = [&](auto choose) {
    return Compute("b", {3}, [&](Indices i) {
      return choose(i[0] >= Expr(1), a(i[0] - 1), FloatConst({PrimitiveType::kF32, 1}, 9));
    });
  };
  Literal input = Literal::FromValues<float>(PrimitiveType::kF32, {3}, {1, 2, 3});
  auto lazy = Evaluate(MakeGraph({a}, {shifted(If)}), {&input});
  ASSERT_TRUE(lazy.ok());
  EXPECT_THAT((*lazy)[0].data<float>(), ElementsAre(9, 1, 2));
  auto eager = Evaluate(MakeGraph({a}, {shifted(Select)}), {&input});
  EXPECT_THAT(std::string(eager.status().message()), HasSubstr("read of a[-1] outside of [3]"));
}

TEST(Evaluate, RefusesInputsOfAnotherShape) {
  Tensor a = Placeholder("a", {3}, PrimitiveType::kF32);
  Tensor b = Compute("b", {3}, [&](Indices i) { return a(i[0]); });
  Literal input = Literal::FromValues<float>(PrimitiveType::kF32, {2}, {1, 2});
  EXPECT_THAT(std::string(Evaluate(MakeGraph({a}, {b}), {&input}).status().message()), HasSubstr("wrong shape"));
  EXPECT_THAT(std::string(Evaluate(MakeGraph({a}, {b}), {}).status().message()), HasSubstr("takes 1 inputs"));
}

}  // namespace
}  // namespace smelt::kernels::te
