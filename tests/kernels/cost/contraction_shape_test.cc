#include "kernels/cost/contraction_shape.h"

#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"

namespace smelt::kernels::cost {
namespace {

TEST(ContractionShape, RaggedDotHasTheAttributesOfADot) {
  const auto module = hlo::ParseModule(R"(
ENTRY e {
  x = f32[12,5] parameter(0)
  y = f32[3,5,7] parameter(1)
  g = s32[3] parameter(2)
  ROOT r = f32[12,7] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
})")
                          .value();
  const ContractionShape shape = ShapeOfContraction(*module->entry()->root());
  EXPECT_EQ(shape.m, 12);
  EXPECT_EQ(shape.k, 5);
  EXPECT_GT(EstimateKernel(*module->entry(), machine::Machine()).seconds(), 0);
}

TEST(ContractionShape, ArraysWithoutElementsCountAsOne) {
  const auto module = hlo::ParseModule(R"(
ENTRY e {
  x = f32[4,0] parameter(0)
  y = f32[0,6] parameter(1)
  ROOT r = f32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})")
                          .value();
  const ContractionShape shape = ShapeOfContraction(*module->entry()->root());
  EXPECT_GE(shape.m, 1);
  EXPECT_GE(shape.k, 1);
}

}  // namespace
}  // namespace smelt::kernels::cost
