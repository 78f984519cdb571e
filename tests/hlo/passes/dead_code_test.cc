#include "hlo/passes/dead_code.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(EliminateDeadCode, RemovesWhatNothingUses) {
  const auto module = Apply(R"(ENTRY e {
    x = f32[4] parameter(0)
    a = f32[4] exponential(x)
    b = f32[4] negate(a)
    ROOT r = f32[4] add(x, x) })",
                            EliminateDeadCode);
  EXPECT_EQ(module->entry()->instruction_count(), 2);
}

TEST(EliminateDeadCode, KeepsUnusedParameters) {
  Apply("ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) ROOT r = f32[4] negate(x) }", EliminateDeadCode,
        /*expect_change=*/false);
}

TEST(EliminateDeadCode, RemovesComputationsThatNothingCalls) {
  const auto module = Apply(R"(HloModule m
    inner { p = f32[] parameter(0) ROOT n = f32[] negate(p) }
    outer { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=inner }
    ENTRY e { x = f32[] parameter(0) c = f32[] call(x), to_apply=outer ROOT r = f32[] exponential(x) })",
                            EliminateDeadCode);
  EXPECT_EQ(module->Computations().size(), 1u);
}

TEST(EliminateDeadCode, KeepsSideEffectsAlsoInsideLoops) {
  const auto module = Parse(R"(HloModule m
    body { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[2] get-tuple-element(s), index=1
      t = token[] after-all() o = token[] outfeed(x, t) one = s32[] constant(1) j = s32[] add(i, one)
      ROOT r = (s32[], f32[2]) tuple(j, x) }
    condition { s = (s32[], f32[2]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
      ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { x = f32[2] parameter(0) z = s32[] constant(0) s = (s32[], f32[2]) tuple(z, x)
      w = (s32[], f32[2]) while(s), body=body, condition=condition ROOT r = f32[2] negate(x) })");
  const absl::StatusOr<bool> changed = EliminateDeadCode(*module);
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

TEST(EliminateDeadCode, KeepsControlDependencies) {
  const auto module = Parse(R"(ENTRY e { x = f32[] parameter(0) a = f32[] exponential(x)
      ROOT r = f32[] negate(x), control-predecessors={a} })");
  EXPECT_FALSE(*EliminateDeadCode(*module));
}

TEST(EliminateDeadCode, SaysThatAnEntryIsMissing) {
  Module module("empty");
  EXPECT_EQ(EliminateDeadCode(module).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace smelt::hlo
