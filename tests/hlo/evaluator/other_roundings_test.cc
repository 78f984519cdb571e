// Results as if they had been rounded otherwise: what moves, by how much, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Literal Numbers(PrimitiveType type, int64_t count) {
  Literal numbers(Shape::Array(type, {count}));
  for (int64_t i = 0; i < count; ++i)
    numbers.SetComplex(i, {std::sin(static_cast<double>(i) + 1), std::cos(static_cast<double>(i))});
  return numbers;
}

std::string Square(const std::string& type) {
  return "HloModule m\n\nENTRY e {\n  x = " + type + "[256] parameter(0)\n  ROOT y = " + type +
         "[256] multiply(x, x)\n}\n";
}

TEST(OtherRoundings, MoveEveryFloatTypeByItsLastDigits) {
  struct Case {
    const char* name;
    PrimitiveType type;
    double most;
  };
  for (const Case& c : {Case{"f16", PrimitiveType::kF16, 0x1p-9}, Case{"bf16", PrimitiveType::kBF16, 0x1p-6},
                        Case{"f32", PrimitiveType::kF32, 0x1p-19}, Case{"f64", PrimitiveType::kF64, 0x1p-48},
                        Case{"c64", PrimitiveType::kC64, 0x1p-19}, Case{"c128", PrimitiveType::kC128, 0x1p-48}}) {
    const Literal x = Numbers(c.type, 256);
    const Literal base = EvaluateText(Square(c.name), {x}).value();
    const Literal one = EvaluateText(Square(c.name), {x}, {.other_roundings = 1}).value();
    const Literal again = EvaluateText(Square(c.name), {x}, {.other_roundings = 1}).value();
    const Literal two = EvaluateText(Square(c.name), {x}, {.other_roundings = 2}).value();
    EXPECT_TRUE(one == again) << c.name;
    EXPECT_FALSE(one == two) << c.name;
    int64_t up = 0, moved = 0;
    for (int64_t i = 0; i < 256; ++i) {
      const double by = std::abs(one.GetComplex(i) - base.GetComplex(i));
      EXPECT_LE(by, c.most * std::abs(base.GetComplex(i))) << c.name << " " << i;
      moved += by != 0;
      up += one.GetDouble(i) > base.GetDouble(i);
    }
    EXPECT_GT(moved, 160) << c.name;
    EXPECT_GT(up, 50) << c.name;
    EXPECT_LT(up, 200) << c.name;
  }
}

TEST(OtherRoundings, LeaveIntegersAndNarrowFloats) {
  for (const char* type : {"s32", "u8", "f8e4m3fn"}) {
    const Literal x = Numbers(std::string(type) == "s32"  ? PrimitiveType::kS32
                              : std::string(type) == "u8" ? PrimitiveType::kU8
                                                          : PrimitiveType::kF8E4M3FN,
                              256);
    EXPECT_TRUE(EvaluateText(Square(type), {x}).value() ==
                EvaluateText(Square(type), {x}, {.other_roundings = 1}).value())
        << type;
  }
}

// A loop that counts in floats runs as often.
TEST(OtherRoundings, LeaveWhatIsExact) {
  const char kCount[] = R"(HloModule m

body {
  p = (f32[], f32[]) parameter(0)
  i = f32[] get-tuple-element(p), index=0
  s = f32[] get-tuple-element(p), index=1
  one = f32[] constant(1)
  half = f32[] constant(0.5)
  j = f32[] add(i, one)
  t = f32[] add(s, half)
  ROOT r = (f32[], f32[]) tuple(j, t)
}

condition {
  p = (f32[], f32[]) parameter(0)
  i = f32[] get-tuple-element(p), index=0
  n = f32[] constant(10)
  ROOT r = pred[] compare(i, n), direction=LT
}

ENTRY e {
  z = f32[] constant(0)
  t = (f32[], f32[]) tuple(z, z)
  w = (f32[], f32[]) while(t), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}
)";
  for (int way = 1; way < 6; ++way)
    EXPECT_THAT(Values(EvaluateText(kCount, {}, {.other_roundings = way}).value()), ElementsAre(5)) << way;
}

// The largest of rounded numbers is one of them, and compares equal to itself.
TEST(OtherRoundings, KeepEqualNumbersEqual) {
  const char kLargest[] = R"(HloModule m

max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY e {
  x = f32[256] parameter(0)
  y = f32[256] multiply(x, x)
  z = f32[] constant(0)
  m = f32[] reduce(y, z), dimensions={0}, to_apply=max
  mb = f32[256] broadcast(m), dimensions={}
  le = pred[256] compare(y, mb), direction=LE
  eq = pred[256] compare(y, mb), direction=EQ
  one = f32[] constant(1)
  ones = f32[256] broadcast(one), dimensions={}
  zs = f32[256] broadcast(z), dimensions={}
  n = f32[256] select(eq, ones, zs)
  count = f32[] reduce(n, z), dimensions={0}, to_apply=add
  ROOT r = (pred[256], f32[]) tuple(le, count)
}
)";
  for (int way = 1; way < 6; ++way) {
    const Literal result =
        EvaluateText(kLargest, {Numbers(PrimitiveType::kF32, 256)}, {.other_roundings = way}).value();
    EXPECT_THAT(Values(result.elements()[0]), Each(1)) << way;
    EXPECT_THAT(Values(result.elements()[1]), ElementsAre(1)) << way;
  }
}

// A half that a product gives is next to a half in another order; whole numbers and other halves' neighbours stay.
TEST(OtherRoundings, TurnRoundingsOfHalves) {
  const char kRound[] =
      "HloModule m\n\nENTRY e {\n  x = f32[64] parameter(0)\n  h = f32[] constant(0.5)\n  hs = f32[64] broadcast(h), "
      "dimensions={}\n  y = f32[64] multiply(x, hs)\n  ROOT r = f32[64] round-nearest-even(y)\n}\n";
  Literal x(Shape::Array(PrimitiveType::kF32, {64}));
  for (int64_t i = 0; i < 64; ++i) x.data<float>()[i] = static_cast<float>(i);
  const std::vector<double> base = EvaluateValues(kRound, {x});
  const std::vector<double> other = Values(EvaluateText(kRound, {x}, {.other_roundings = 1}).value());
  int64_t turned = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    EXPECT_TRUE(i % 2 != 0 || base[i] == other[i]) << i;
    EXPECT_LE(std::abs(base[i] - other[i]), 1) << i;
    turned += base[i] != other[i];
  }
  EXPECT_GT(turned, 5);
  EXPECT_LT(turned, 27);
}

}  // namespace
}  // namespace smelt::hlo
