#include "hlo/passes/constant_folding.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(FoldConstants, ComputesChainsInOneRun) {
  const auto module = Apply(R"(HloModule m
    add_f { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
    ENTRY e { a = f32[3] constant({1, 2, 3}) b = f32[3] constant({4, 5, 6}) m = f32[3] multiply(a, b)
      z = f32[] constant(0) ROOT r = f32[] reduce(m, z), dimensions={0}, to_apply=add_f })",
                            FoldConstants);
  ASSERT_EQ(module->entry()->root()->opcode(), Opcode::kConstant);
  EXPECT_EQ(module->entry()->root()->literal().GetDouble(0), 32);
}

TEST(FoldConstants, ABroadcastConstantMeetsAConstant) {
  const auto module = Apply(R"(ENTRY e { a = s32[3] constant({1, 2, 3}) c = s32[] constant(7)
      b = s32[3] broadcast(c), dimensions={} ROOT r = s32[3] add(a, b) })",
                            FoldConstants);
  EXPECT_EQ(module->entry()->root()->literal().GetInteger(2), 10);
}

TEST(FoldConstants, LeavesBroadcastsIotasAndElidedConstants) {
  Apply("ENTRY e { c = f32[] constant(1) ROOT b = f32[4] broadcast(c), dimensions={} }", FoldConstants, false);
  Apply("ENTRY e { i = s32[4] iota(), iota_dimension=0 ROOT n = s32[4] negate(i) }", FoldConstants, false);
  Apply("ENTRY e { c = f32[64] constant({...}) ROOT n = f32[64] negate(c) }", FoldConstants, false);
}

TEST(FoldConstants, IsBounded) {
  // 65,537 elements; and a product of 2^27 operations.
  const auto large = Parse(
      "ENTRY e { c = f32[2] constant({1, 2}) z = f32[] constant(0) ROOT p = f32[65537] pad(c, z), padding=0_65535 }");
  EXPECT_FALSE(*FoldConstants(*large));
  const auto heavy = Parse(R"(ENTRY e {
      c = f32[2] constant({1, 2}) z = f32[] constant(0) p = f32[65536] pad(c, z), padding=0_65534
      m = f32[256,256] reshape(p)
      ROOT d = f32[256,256] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  EXPECT_TRUE(*FoldConstants(*heavy));
  EXPECT_EQ(OpcodesOf(*heavy), "dot");
}

TEST(FoldConstants, SideEffectsAndRandomNumbersStay) {
  const auto module = Parse(R"(ENTRY e { l = f32[] constant(0) h = f32[] constant(1)
      ROOT r = f32[4] rng(l, h), distribution=rng_uniform })");
  EXPECT_FALSE(*FoldConstants(*module));
}

}  // namespace
}  // namespace smelt::hlo
