#include "kernels/cost/operation_cost.h"

#include "gtest/gtest.h"
#include "hlo/text/parser.h"
#include "kernels/cost/analytical.h"

namespace smelt::kernels::cost {
namespace {

// With caches of a desktop's sizes: what the constants stand for.
double Microseconds(const std::string& entry) {
  const auto module =
      hlo::ParseModule(
          "HloModule m\n"
          "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
          "lt { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = pred[] compare(a, b), direction=LT }\n" +
          entry)
          .value();
  return 1e6 * EstimateKernel(*module->entry(), machine::Machine()).seconds();
}

std::string Rows(const std::string& rows) {
  return "ENTRY e { x = f32[" + rows +
         ",256] parameter(0)  i = s32[64,1] parameter(1)  u = f32[64,256] parameter(2)  ROOT y = f32[" + rows +
         ",256] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
         "index_vector_dim=1, to_apply=add }";
}

TEST(OperationCost, AScatterCostsItsUpdatesAndNotItsArray) {
  EXPECT_DOUBLE_EQ(Microseconds(Rows("10000")), Microseconds(Rows("100000")));
}

TEST(OperationCost, ATransformWithALargePrimeCostsSeveralOthers) {
  const auto transform = [](const std::string& n) {
    return Microseconds("ENTRY e { x = c64[64," + n + "] parameter(0)  ROOT y = c64[64," + n +
                        "] fft(x), fft_type=FFT, fft_length={" + n + "} }");
  };
  EXPECT_GT(transform("1021"), 3 * transform("1024"));
}

TEST(OperationCost, ASortCostsMoreThanReadingItsArray) {
  EXPECT_GT(
      Microseconds(
          "ENTRY e { x = f32[100,1000] parameter(0)  ROOT y = f32[100,1000] sort(x), dimensions={1}, to_apply=lt }"),
      5 * Microseconds("ENTRY e { x = f32[100,1000] parameter(0)  ROOT y = f32[100,1000] negate(x) }"));
}

TEST(OperationCost, OperationsWithALoopNestHaveNone) {
  const auto module = hlo::ParseModule("ENTRY e { x = f32[4] parameter(0)  ROOT y = f32[4] negate(x) }").value();
  EXPECT_FALSE(OperationCycles(*module->entry()->root()).has_value());
}

}  // namespace
}  // namespace smelt::kernels::cost
