#include "hlo/passes/call_inliner.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(InlineCalls, CopiesBodiesOfCallsInCalls) {
  const auto module = Apply(R"(HloModule m
    inner { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
    outer { p = f32[4] parameter(0) q = f32[4] parameter(1) c = f32[4] call(q), to_apply=inner ROOT a = f32[4] subtract(p, c) }
    ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) c = f32[4] call(x, y), to_apply=outer
      d = f32[4] call(y, x), to_apply=outer ROOT r = f32[4] multiply(c, d) })",
                            InlineCalls);
  EXPECT_EQ(OpcodesOf(*module), "negate subtract negate subtract multiply");
}

TEST(InlineCalls, ReachesCallsInLoopBodiesButKeepsTheLoop) {
  const auto module = Apply(R"(HloModule m
    half { p = f32[] parameter(0) h = f32[] constant(0.5) ROOT m = f32[] multiply(p, h) }
    body { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[] get-tuple-element(s), index=1
      y = f32[] call(x), to_apply=half one = s32[] constant(1) j = s32[] add(i, one) ROOT r = (s32[], f32[]) tuple(j, y) }
    condition { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
      ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { x = f32[] parameter(0) z = s32[] constant(0) s = (s32[], f32[]) tuple(z, x)
      ROOT w = (s32[], f32[]) while(s), body=body, condition=condition })",
                            InlineCalls);
  EXPECT_EQ(OpcodesOf(*module), "tuple while");
}

TEST(InlineCalls, ABodyThatIsItsParameterIsTheArgument) {
  const auto module = Apply(R"(HloModule m
    same { p = f32[4] parameter(0) ROOT q = f32[4] parameter(1) }
    ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT c = f32[4] call(x, y), to_apply=same })",
                            InlineCalls);
  EXPECT_EQ(module->entry()->root()->name(), "y");
}

TEST(InlineCalls, DeadInstructionsDoNotPileUp) {
  std::string text = "HloModule m\ng0 { p = f32[] parameter(0) d = f32[] exponential(p) ROOT n = f32[] negate(p) }\n";
  for (int i = 1; i <= 200; ++i) {
    text += StrCat("g", i, " { p = f32[] parameter(0) d = f32[] exponential(p) ROOT b = f32[] call(p), to_apply=g",
                   i - 1, " }\n");
  }
  text += "ENTRY e { x = f32[] parameter(0) ROOT c = f32[] call(x), to_apply=g200 }";
  const auto module = Apply(text, InlineCalls);
  EXPECT_EQ(module->entry()->instruction_count(), 2);
}

TEST(InlineCalls, RespectsTheFrontEnd) {
  Apply(R"(HloModule m
    f { p = f32[] parameter(0) ROOT n = f32[] negate(p) }
    ENTRY e { x = f32[] parameter(0) ROOT c = f32[] call(x), to_apply=f, frontend_attributes={inlineable="false"} })",
        InlineCalls, /*expect_change=*/false);
}

TEST(InlineCalls, StopsBeforeDoublingOverAndOverExplodes) {
  std::string text = "HloModule m\ng0 { p = f32[] parameter(0) ROOT n = f32[] negate(p) }\n";
  for (int i = 1; i <= 60; ++i) {
    text += StrCat("g", i, " { p = f32[] parameter(0) a = f32[] call(p), to_apply=g", i - 1,
                   " ROOT b = f32[] call(a), to_apply=g", i - 1, " }\n");
  }
  text += "ENTRY e { x = f32[] parameter(0) ROOT c = f32[] call(x), to_apply=g60 }";
  const auto module = Parse(text);
  ASSERT_TRUE(InlineCalls(*module).ok());
  EXPECT_GT(module->instruction_count(), 1 << 16);
  EXPECT_LE(module->instruction_count(), 1 << 17);
}

}  // namespace
}  // namespace smelt::hlo
