#include "hlo/passes/computation_deduplication.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(DeduplicateComputations, EqualReducersBecomeOne) {
  const auto module = Apply(R"(HloModule m
    sum1 { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
    sum2 { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    product { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] multiply(a, b) }
    difference { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(b, a) }
    ENTRY e { x = f32[4] parameter(0) z = f32[] constant(0) a = f32[] reduce(x, z), dimensions={0}, to_apply=sum1
      b = f32[] reduce(x, z), dimensions={0}, to_apply=sum2 c = f32[] reduce(x, z), dimensions={0}, to_apply=product
      d = f32[] reduce(x, z), dimensions={0}, to_apply=difference
      ROOT r = (f32[], f32[], f32[], f32[]) tuple(a, b, c, d) })",
                            DeduplicateComputations);
  const auto operands = module->entry()->root()->operands();
  EXPECT_EQ(operands[0]->called(0), operands[1]->called(0));
  EXPECT_NE(operands[0]->called(0), operands[2]->called(0));
  EXPECT_NE(operands[0]->called(0), operands[3]->called(0));
}

}  // namespace
}  // namespace smelt::hlo
