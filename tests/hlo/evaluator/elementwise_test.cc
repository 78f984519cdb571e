#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/hlo/evaluator/evaluate_text.h"

namespace smelt::hlo {
namespace {

using ::testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string Binary(std::string_view type, std::string_view opcode, std::string_view a, std::string_view b) {
  std::string t(type), o(opcode), x(a), y(b);
  return "ENTRY e { a = " + t + " constant(" + x + ")  b = " + t + " constant(" + y + ")  ROOT r = " + t + " " + o +
         "(a, b) }";
}

TEST(EvaluateElementwise, IntegerDivisionByZeroGivesAllOnes) {
  EXPECT_THAT(EvaluateValues(Binary("s32[4]", "divide", "{7, -7, 0, -2147483648}", "{0, 0, 0, -1}")),
              ElementsAre(-1, -1, -1, -2147483648.0));
  EXPECT_THAT(EvaluateValues(Binary("u8[2]", "divide", "{7, 9}", "{0, 2}")), ElementsAre(255, 4));
  EXPECT_THAT(EvaluateValues(Binary("s32[4]", "remainder", "{7, -7, 5, -2147483648}", "{0, 3, -3, -1}")),
              ElementsAre(7, -1, 2, 0));
}

TEST(EvaluateElementwise, ShiftsByTheWidthOrMoreEmptyTheValue) {
  EXPECT_THAT(EvaluateValues(Binary("s32[4]", "shift-left", "{1, 1, 1, 1}", "{31, 32, 100, -1}")),
              ElementsAre(-2147483648.0, 0, 0, 0));
  EXPECT_THAT(EvaluateValues(Binary("s32[3]", "shift-right-logical", "{-1, -1, -1}", "{31, 32, -5}")),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(EvaluateValues(Binary("s32[4]", "shift-right-arithmetic", "{-8, -8, 8, -8}", "{1, 32, 32, -1}")),
              ElementsAre(-4, -1, 0, -1));
  EXPECT_THAT(EvaluateValues(Binary("s8[2]", "shift-left", "{3, 3}", "{7, 8}")), ElementsAre(-128, 0));
}

TEST(EvaluateElementwise, IntegersWrap) {
  EXPECT_THAT(EvaluateValues(Binary("s8[2]", "add", "{127, -128}", "{1, -1}")), ElementsAre(-128, 127));
  EXPECT_THAT(EvaluateValues(Binary("s16[1]", "multiply", "{300}", "{300}")), ElementsAre(24464));
  EXPECT_THAT(EvaluateValues(Binary("s4[2]", "add", "{7, -8}", "{1, -1}")), ElementsAre(-8, 7));
  EXPECT_THAT(EvaluateValues(Binary("u4[2]", "multiply", "{7, 15}", "{3, 15}")), ElementsAre(5, 1));
  EXPECT_THAT(EvaluateValues(Binary("s32[3]", "power", "{3, -1, 2}", "{4, -3, -1}")), ElementsAre(81, -1, 0));
}

// Integers of 1, 2 and 4 bits lie in a byte each; their width is their own all the same.
TEST(EvaluateElementwise, WidthOfSubByteIntegersCounts) {
  const auto unary = [](const std::string& type, const std::string& opcode, const std::string& values) {
    return EvaluateValues("ENTRY e { x = " + type + " constant(" + values + ")  ROOT r = " + type + " " + opcode +
                          "(x) }");
  };
  EXPECT_THAT(unary("s4[4]", "popcnt", "{-1, -8, 7, 0}"), ElementsAre(4, 1, 3, 0));
  EXPECT_THAT(unary("u4[3]", "popcnt", "{15, 8, 0}"), ElementsAre(4, 1, 0));
  EXPECT_THAT(unary("s2[3]", "popcnt", "{-1, -2, 1}"), ElementsAre(-2, 1, 1));  // 2 is beyond s2
  EXPECT_THAT(unary("s4[4]", "count-leading-zeros", "{-1, 1, 7, 0}"), ElementsAre(0, 3, 1, 4));
  EXPECT_THAT(unary("u2[3]", "count-leading-zeros", "{0, 1, 3}"), ElementsAre(2, 1, 0));
  EXPECT_THAT(unary("u1[2]", "count-leading-zeros", "{0, 1}"), ElementsAre(1, 0));
  EXPECT_THAT(EvaluateValues(Binary("s4[4]", "shift-right-logical", "{-1, -1, -8, 7}", "{1, 3, 4, -1}")),
              ElementsAre(7, 1, 0, 0));
  EXPECT_THAT(EvaluateValues(Binary("u4[4]", "shift-right-arithmetic", "{15, 8, 8, 4}", "{1, 3, 9, 1}")),
              ElementsAre(15, 15, 15, 2));
  EXPECT_THAT(EvaluateValues(Binary("s4[3]", "shift-left", "{3, 1, 1}", "{2, 3, 4}")), ElementsAre(-4, -8, 0));
  EXPECT_THAT(EvaluateValues(Binary("s4[3]", "mulhi", "{7, -8, -8}", "{7, 7, -8}")), ElementsAre(3, -4, 4));
  EXPECT_THAT(EvaluateValues(Binary("u4[2]", "mulhi", "{15, 3}", "{15, 4}")), ElementsAre(14, 0));
}

TEST(EvaluateElementwise, MaximumAndMinimumPropagateNaNAndOrderZeros) {
  const auto maximum = EvaluateValues(Binary("f32[4]", "maximum", "{nan, 1, 0.0, -0.0}", "{1, nan, -0.0, 0.0}"));
  EXPECT_TRUE(std::isnan(maximum[0]) && std::isnan(maximum[1]));
  EXPECT_FALSE(std::signbit(maximum[2]) || std::signbit(maximum[3]));
  const auto minimum = EvaluateValues(Binary("f64[4]", "minimum", "{nan, 1, 0.0, -0.0}", "{1, nan, -0.0, 0.0}"));
  EXPECT_TRUE(std::isnan(minimum[0]) && std::isnan(minimum[1]));
  EXPECT_TRUE(std::signbit(minimum[2]) && std::signbit(minimum[3]));
}

TEST(EvaluateElementwise, ClampPropagatesNaNAndPrefersTheUpperBound) {
  const auto values = EvaluateValues(
      "ENTRY e { l = f32[] constant(2)  x = f32[3] parameter(0)  h = f32[] constant(1)  ROOT r = f32[3] clamp(l, x, h) "
      "}",
      {F32({3}, {kNaN, 5, 0})});
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 1);
  EXPECT_EQ(values[2], 1);
}

TEST(EvaluateElementwise, FloatsBecomeIntegersBySaturation) {
  const Literal x = F32({6}, {kNaN, 1e20f, -1e20f, 3.9f, -3.9f, kInfinity});
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[6] parameter(0)  ROOT r = s32[6] convert(x) }", {x}),
              ElementsAre(0, 2147483647.0, -2147483648.0, 3, -3, 2147483647.0));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[6] parameter(0)  ROOT r = u8[6] convert(x) }", {x}),
              ElementsAre(0, 255, 0, 3, 0, 255));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[6] parameter(0)  ROOT r = s4[6] convert(x) }", {x}),
              ElementsAre(0, 7, -8, 3, -3, 7));
}

TEST(EvaluateElementwise, ConversionsOfEveryPairOfTypesKeepSmallNumbers) {
  const char* types[] = {"s2",     "s4",     "s8",       "s16",       "s32",      "s64", "u2",   "u4",
                         "u8",     "u16",    "u32",      "u64",       "bf16",     "f16", "f32",  "f64",
                         "f8e5m2", "f8e4m3", "f8e4m3fn", "f8e8m0fnu", "f4e2m1fn", "c64", "c128", "pred"};
  for (const char* from : types) {
    for (const char* to : types) {
      const std::string f(from), t(to);
      if (f[0] == 'c' && t[0] != 'c') continue;  // does not verify
      EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[1] constant({1})  y = " + f + "[1] convert(x)  ROOT r = " + t +
                                 "[1] convert(y) }"),
                  ElementsAre(1))
          << from << " to " << to;
    }
  }
}

TEST(EvaluateElementwise, Bf16RoundsAfterEachInstruction) {
  // 256 + 1 is a tie that goes to the even 256; in f32 the two ones would have added up.
  EXPECT_THAT(EvaluateValues("ENTRY e { a = bf16[] constant(256)  o = bf16[] constant(1)  b = bf16[] add(a, o)  ROOT c "
                             "= bf16[] add(b, o) }"),
              ElementsAre(256));
}

// What XLA:CPU returned for these: integers and f64 reach 16 bits by way of f32, and shorter floats from f64 at once.
TEST(EvaluateElementwise, ConversionsToShortFloatsRoundAsOftenAsXlasDo) {
  EXPECT_THAT(
      EvaluateValues("ENTRY e { x = s32[3] constant({597688319, 597688321, 16842751})  ROOT b = bf16[3] convert(x) }"),
      ElementsAre(595591168, 595591168, 16777216));
  EXPECT_THAT(
      EvaluateValues("ENTRY e { x = f64[2] constant({597688321, 1.003906250001})  ROOT b = bf16[2] convert(x) }"),
      ElementsAre(595591168, 1));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f64[1] constant({1.0004882812509})  ROOT h = f16[1] convert(x) }"),
              ElementsAre(1));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f64[2] constant({1.125000000001, 4609})  ROOT h = f8e5m2[2] convert(x) }"),
              ElementsAre(1.25, 5120));
  // Powers of two: the middle goes up.
  EXPECT_THAT(
      EvaluateValues("ENTRY e { x = f32[5] constant({3, 6, 12, 2.9, 0.75})  ROOT h = f8e8m0fnu[5] convert(x) }"),
      ElementsAre(4, 8, 16, 2, 1));
}

TEST(EvaluateElementwise, SubnormalsCountAsZeroInArithmeticButNotInConversions) {
  EXPECT_THAT(EvaluateValues(Binary("f32[1]", "multiply", "{1e-40}", "{1e10}")), ElementsAre(0));
  // Extremes are arithmetic, in XLA too; signs and choices are not.
  EXPECT_THAT(EvaluateValues(Binary("f32[2]", "maximum", "{1e-40, -1}", "{-1, 1e-40}")), ElementsAre(0, 0));
  EXPECT_THAT(EvaluateValues(Binary("f64[2]", "minimum", "{1e-310, 1}", "{1, 1e-310}")), ElementsAre(0, 0));
  EXPECT_THAT(EvaluateValues(Binary("bf16[1]", "maximum", "{1e-40}", "{-1}")), ElementsAre(0));
  EXPECT_THAT(
      EvaluateValues("ENTRY e { x = s32[1] constant({7})  y = f32[1] bitcast-convert(x)  l = f32[] constant(-2)  "
                     "h = f32[] constant(2)  c = f32[1] clamp(l, y, h)  ROOT r = s32[1] bitcast-convert(c) }"),
      ElementsAre(0));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = s32[1] constant({7})  y = f32[1] bitcast-convert(x)  n = f32[1] negate(y)  "
                             "a = f32[1] abs(n)  ROOT r = s32[1] bitcast-convert(a) }"),
              ElementsAre(7));
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[1] constant({6e-8})  ROOT r = f16[1] convert(x) }"),
              ElementsAre(0x1p-24));
}

TEST(EvaluateElementwise, TotalOrderComparisonKnowsSignsOfZeroAndNaN) {
  const Literal a = F32({3}, {-0.0f, kNaN, -kNaN}), b = F32({3}, {0.0f, kInfinity, -kInfinity});
  EXPECT_THAT(EvaluateValues("ENTRY e { a = f32[3] parameter(0)  b = f32[3] parameter(1)  ROOT r = pred[3] compare(a, "
                             "b), direction=LT, type=TOTALORDER }",
                             {a, b}),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(
      EvaluateValues(
          "ENTRY e { a = f32[3] parameter(0)  b = f32[3] parameter(1)  ROOT r = pred[3] compare(a, b), direction=LT }",
          {a, b}),
      ElementsAre(0, 0, 0));
}

TEST(EvaluateElementwise, ReducePrecisionRoundsAndFlushes) {
  EXPECT_THAT(EvaluateValues("ENTRY e { x = f32[4] constant({1.01, 70000, 1e-5, -3.14159})  ROOT r = f32[4] "
                             "reduce-precision(x), exponent_bits=5, "
                             "mantissa_bits=10 }"),
              ElementsAre(1.009765625, kInfinity, 0, -3.140625));
}

TEST(EvaluateElementwise, ComplexFunctionsMatchTheirDefinitions) {
  auto result = EvaluateText(R"(ENTRY e { x = f32[2] constant({0.5, -2})  y = f32[2] constant({-1.5, 3})
    z = c64[2] complex(x, y)  l = c64[2] log-plus-one(z)  m = c64[2] exponential-minus-one(l)  ROOT d = c64[2] subtract(m, z) })");
  ASSERT_TRUE(result.ok()) << result.status();
  for (int64_t i = 0; i < 2; ++i) EXPECT_LT(std::abs(result->GetComplex(i)), 1e-6);
}

// XLA:CPU has it so: < and > go by both parts, <=, >= and extremes by the real part alone.
TEST(EvaluateElementwise, ComplexNumbersHaveXlasOrder) {
  const std::string pair =
      "ENTRY e { x = c64[4] constant({(1, 2), (3, -1), (1, 2), (-1, 0)})  y = c64[4] constant({(1, 3), (2, 5), (1, "
      "-2), (-1, 1)})  ";
  const auto compare = [&](const std::string& direction) {
    return EvaluateValues(pair + "ROOT r = pred[4] compare(x, y), direction=" + direction + " }");
  };
  EXPECT_THAT(compare("LT"), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(compare("GT"), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(compare("LE"), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(compare("GE"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(EvaluateValues(pair + "m = c64[4] maximum(x, y) ROOT r = f32[4] imag(m) }"), ElementsAre(2, -1, 2, 0));
  EXPECT_THAT(EvaluateValues(pair + "m = c64[4] minimum(x, y) ROOT r = f32[4] imag(m) }"), ElementsAre(2, 5, 2, 0));
}

TEST(EvaluateElementwise, SubnormalNumbersOfSmallFloatsAreNumbers) {
  EXPECT_THAT(EvaluateValues(R"(ENTRY e { x = u16[4] constant({0, 1, 32769, 32768})  b = bf16[4] bitcast-convert(x)
    ROOT r = pred[4] convert(b) })"),
              ElementsAre(0, 1, 1, 0));
  // 314 * 2^-24: as many exponents as f16 has lose nothing.
  EXPECT_THAT(EvaluateValues(R"(ENTRY e { x = u16[2] constant({314, 1})  h = f16[2] bitcast-convert(x)
    p = f16[2] reduce-precision(h), exponent_bits=5, mantissa_bits=14  ROOT r = u16[2] bitcast-convert(p) })"),
              ElementsAre(314, 1));
}

// XLA:CPU has it so, whose processor takes them for zero in every instruction.
TEST(EvaluateElementwise, SubnormalNumbersAreZeroToFunctionsThatWouldNotBeSmall) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string x = "ENTRY e { i = s32[2] constant({100, -2147483547})  x = f32[2] bitcast-convert(i) ";
  EXPECT_THAT(EvaluateValues(x + "y = f32[2] abs(x)  ROOT r = f32[2] log(y) }"), ElementsAre(-infinity, -infinity));
  EXPECT_THAT(EvaluateValues(x + "ROOT r = f32[2] cbrt(x) }"), ElementsAre(0, 0));
  EXPECT_THAT(EvaluateValues(x + "h = f32[2] constant({0.1, 0.1})  y = f32[2] abs(x)  ROOT r = f32[2] power(y, h) }"),
              ElementsAre(0, 0));
  EXPECT_THAT(EvaluateValues(x + "ROOT r = f32[2] atan2(x, x) }"), ElementsAre(0, testing::DoubleNear(-M_PI, 1e-6)));
}

// XLA:CPU's values: bits are dropped from the place where they stand, so that small subnormal numbers become zero.
TEST(EvaluateElementwise, SubnormalNumbersOfF16AreRoundedInTheirPlace) {
  const auto reduced = [](int exponent_bits, int mantissa_bits) {
    return EvaluateValues(absl::StrCat(
        "ENTRY e { x = u16[9] constant({4, 12, 300, 700, 1000, 1023, 32772, 1537, 3})  h = f16[9] bitcast-convert(x) ",
        "p = f16[9] reduce-precision(h), exponent_bits=", exponent_bits, ", mantissa_bits=", mantissa_bits,
        " ROOT r = u16[9] bitcast-convert(p) }"));
  };
  EXPECT_THAT(reduced(10, 1), ElementsAre(0, 0, 512, 512, 1024, 1024, 32768, 1536, 0));
  EXPECT_THAT(reduced(5, 3), ElementsAre(0, 0, 256, 640, 1024, 1024, 32768, 1536, 0));
  EXPECT_THAT(reduced(4, 1), ElementsAre(0, 0, 0, 0, 0, 0, 32768, 0, 0));
}

TEST(EvaluateElementwise, OperandsThatAreUsedAgainKeepTheirValues) {
  // The negation could be done in place, but x is read once more.
  EXPECT_THAT(
      EvaluateValues(
          R"(ENTRY e { p = f32[2] parameter(0)  x = f32[2] add(p, p)  n = f32[2] negate(x)  m = f32[2] multiply(n, x)
    ROOT r = f32[2] add(m, x) })",
          {F32({2}, {1, 2})}),
      ElementsAre(-2, -12));
}

TEST(EvaluateElementwise, ArgumentsAreNeverOverwritten) {
  std::vector<Literal> arguments = {F32({2}, {1, 2})};
  EXPECT_THAT(EvaluateValues("ENTRY e { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }", arguments),
              ElementsAre(-1, -2));
  EXPECT_THAT(Values(arguments[0]), ElementsAre(1, 2));
}

}  // namespace
}  // namespace smelt::hlo
