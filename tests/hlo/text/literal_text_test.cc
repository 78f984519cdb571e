#include "hlo/text/literal_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/str_cat.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

Literal Constant(std::string_view shape, std::string_view value) {
  const auto module = ParseModule(StrCat("ENTRY e { ROOT c = ", shape, " constant(", value, ") }"));
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? (*module)->entry()->root()->literal() : Literal();
}

std::string Print(const Literal& literal) {
  std::string text;
  text::AppendLiteral(&text, literal);
  return text;
}

TEST(LiteralText, OneNumberForAnArrayIsItsFirstElement) {
  EXPECT_EQ(Print(Constant("f32[4]", "0.5")), "{0.5, 0, 0, 0}");
  EXPECT_EQ(Print(Constant("s32[2,2]", "7")), "{{7, 0}, {0, 0}}");
  EXPECT_EQ(Print(Constant("s32[1]", "7")), "{7}");
}

TEST(LiteralText, PrintsWhatItReads) {
  struct Case {
    const char *shape, *text;
  };
  for (const Case& c :
       {Case{"f32[]", "0.1"}, Case{"f32[2,2]", "{{1, 2}, {3, 4}}"}, Case{"f32[4]", "{nan, -nan, inf, -inf}"},
        Case{"f32[3]", "{0, -0.0, 1e-45}"}, Case{"bf16[2]", "{nan(0x7f), -nan(0x3f)}"}, Case{"f64[1]", "{0.1}"},
        Case{"f16[2]", "{65504, -2}"}, Case{"f8e4m3fn[3]", "{448, -nan, 0.5}"}, Case{"f8e5m2[2]", "{nan(0x1), inf}"},
        Case{"s4[2]", "{-8, 7}"}, Case{"u64[2]", "{18446744073709551615, 0}"}, Case{"s64[1]", "{-9223372036854775808}"},
        Case{"pred[2]", "{true, false}"}, Case{"c64[2]", "{(1, -2.5), (inf, nan)}"}, Case{"f32[2,0]", "{{}, {}}"},
        Case{"f32[0]", "{}"}, Case{"(f32[2], (pred[], s32[1]))", "({1, 2}, (true, {-3}))"},
        Case{"f32[2,1,2]", "{{{1, 2}}, {{3, 4}}}"}}) {
    EXPECT_EQ(Print(Constant(c.shape, c.text)), c.text) << c.shape;
  }
}

TEST(LiteralText, FloatsReadBackToTheSameBits) {
  uint32_t bits = 12345;
  for (int i = 0; i < 20000; ++i) {
    bits = bits * 1664525 + 1013904223;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    const Literal literal = Literal::FromValues<float>(PrimitiveType::kF32, {}, {value});
    EXPECT_TRUE(Constant("f32[]", Print(literal)) == literal) << Print(literal);
  }
}

TEST(LiteralText, AnyNumberButZeroIsTrue) {
  EXPECT_EQ(Print(Constant("pred[4]", "{-1, 7, 0, 2147483648}")), "{true, true, false, true}");
}

// XLA takes digits alone for an integer of 64 bits, which 2^63 overflows.
TEST(LiteralText, LargeFloatsAreNotPrintedAsIntegers) {
  for (double value = 0x1p50; value < 0x1p200; value *= 2) {
    const Literal literal = Literal::FromValues<double>(PrimitiveType::kF64, {}, {-value});
    EXPECT_TRUE(Constant("f64[]", Print(literal)) == literal) << Print(literal);
    if (value >= 0x1p63) {
      EXPECT_NE(Print(literal).find('e'), std::string::npos) << Print(literal);
    }
  }
}

TEST(LiteralText, EveryBitPatternOfSmallTypesReadsBack) {
  for (PrimitiveType type :
       {PrimitiveType::kF8E5M2, PrimitiveType::kF8E4M3, PrimitiveType::kF8E4M3FN, PrimitiveType::kF8E4M3B11FNUZ,
        PrimitiveType::kF8E5M2FNUZ, PrimitiveType::kF8E4M3FNUZ, PrimitiveType::kF8E3M4}) {
    Literal all(Shape::Array(type, {256}));
    for (int i = 0; i < 256; ++i) all.data<uint8_t>()[i] = static_cast<uint8_t>(i);
    const Literal again = Constant(StrCat(PrimitiveTypeName(type), "[256]"), Print(all));
    for (int i = 0; i < 256; ++i)
      EXPECT_EQ(all.data<uint8_t>()[i], again.data<uint8_t>()[i]) << PrimitiveTypeName(type) << " " << i;
  }
  Literal all(Shape::Array(PrimitiveType::kBF16, {65536}));
  for (int i = 0; i < 65536; ++i) all.data<uint16_t>()[i] = static_cast<uint16_t>(i);
  EXPECT_TRUE(Constant("bf16[65536]", Print(all)) == all);
}

TEST(LiteralText, IntegersHaveNoNegativeZero) {
  EXPECT_FALSE(std::signbit(Constant("f32[]", "-0").data<float>()[0]));
  EXPECT_TRUE(std::signbit(Constant("f32[]", "-0.0").data<float>()[0]));
}

TEST(LiteralText, ElidedValuesCountOnAndPrintElided) {
  const auto module = ParseModule(
      "ENTRY e { a = u32[2] constant({...}) b = u32[2,1] constant({...}) ROOT t = (u32[2], u32[2,1]) tuple(a, b) }");
  ASSERT_TRUE(module.ok()) << module.status();
  const Instruction& root = *(*module)->entry()->root();
  EXPECT_EQ(Print(root.operand(0)->literal()), "{0, 1}");
  EXPECT_EQ(Print(root.operand(1)->literal()), "{{2}, {3}}");
  EXPECT_EQ(ToText(*root.operand(1)), "%b = u32[2,1] constant({...})");
}

}  // namespace
}  // namespace smelt::hlo
