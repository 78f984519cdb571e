#include "hlo/passes/common_subexpressions.h"

#include "base/str_cat.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(EliminateCommonSubexpressions, EqualChainsFallTogether) {
  const auto module = Apply(R"(ENTRY e { x = f32[4] parameter(0) a = f32[4] exponential(x) b = f32[4] exponential(x)
      c = f32[] constant(2) d = f32[] constant(2) e = f32[4] broadcast(c), dimensions={} f = f32[4] broadcast(d), dimensions={}
      g = f32[4] multiply(a, e) h = f32[4] multiply(f, b) ROOT r = f32[4] subtract(g, h) })",
                            EliminateCommonSubexpressions);
  EXPECT_EQ(OpcodesOf(*module), "exponential broadcast multiply subtract");
}

TEST(EliminateCommonSubexpressions, TellsAttributesShapesAndConstantsApart) {
  Apply(
      R"(ENTRY e { x = f32[4,4] parameter(0) a = f32[4,4] transpose(x), dimensions={1,0} b = f32[4,4] transpose(x), dimensions={0,1}
      c = f32[2,4] slice(x), slice={[0:2], [0:4]} d = f32[2,4] slice(x), slice={[2:4], [0:4]} p = f32[] constant(0) n = f32[] constant(-0.0)
      i = s32[] constant(0)
      ROOT r = (f32[4,4], f32[4,4], f32[2,4], f32[2,4], f32[], f32[], s32[]) tuple(a, b, c, d, p, n, i) })",
      EliminateCommonSubexpressions, /*expect_change=*/false);
}

TEST(EliminateCommonSubexpressions, AnUnwrittenLayoutIsTheDefault) {
  const auto module = Apply(R"(HloModule m
      ENTRY e { x = f32[4,2]{1,0} parameter(0) a = f32[4,2] exponential(x) b = f32[4,2]{1,0} exponential(x)
      ROOT r = f32[4,2]{1,0} subtract(a, b) })",
                            EliminateCommonSubexpressions);
  EXPECT_EQ(OpcodesOf(*module), "exponential subtract");
}

TEST(EliminateCommonSubexpressions, SubtractionDoesNotCommute) {
  Apply(R"(ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) a = f32[4] subtract(x, y) b = f32[4] subtract(y, x)
      ROOT r = f32[4] multiply(a, b) })",
        EliminateCommonSubexpressions, /*expect_change=*/false);
}

// One flag of the opcode's says so, to this pass, to reducers and to scatters.
TEST(EliminateCommonSubexpressions, WhatCommutesFallsTogetherWhicheverOperandIsFirst) {
  const auto text = [](std::string_view opcode, std::string_view type) {
    const std::string array = StrCat(type, "[4]"), name(opcode);
    return StrCat("ENTRY e { x = ", array, " parameter(0) y = ", array, " parameter(1) a = ", array, " ", name,
                  "(x, y) b = ", array, " ", name, "(y, x) ROOT r = (", array, ", ", array, ") tuple(a, b) }");
  };
  for (std::string_view opcode : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
    EXPECT_TRUE(HasFlag(*OpcodeFromName(opcode), kCommutative)) << opcode;
    const auto module = Apply(text(opcode, "s32"), EliminateCommonSubexpressions);
    EXPECT_EQ(OpcodesOf(*module), StrCat(opcode, " tuple"));
  }
  for (std::string_view opcode : {"subtract", "divide", "remainder", "power", "shift-left"}) {
    EXPECT_FALSE(HasFlag(*OpcodeFromName(opcode), kCommutative)) << opcode;
    Apply(text(opcode, "s32"), EliminateCommonSubexpressions, /*expect_change=*/false);
  }
}

TEST(EliminateCommonSubexpressions, PrecisionIsPartOfADot) {
  Apply(
      R"(ENTRY e { x = f32[2,2] parameter(0) a = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,highest}
      ROOT r = f32[2,2] add(a, b) })",
      EliminateCommonSubexpressions, /*expect_change=*/false);
}

TEST(EliminateCommonSubexpressions, RandomNumbersStayTwo) {
  const auto module =
      Parse(R"(ENTRY e { l = f32[] constant(0) h = f32[] constant(1) a = f32[4] rng(l, h), distribution=rng_uniform
      b = f32[4] rng(l, h), distribution=rng_uniform ROOT r = f32[4] add(a, b) })");
  EXPECT_FALSE(*EliminateCommonSubexpressions(*module));
}

}  // namespace
}  // namespace smelt::hlo
