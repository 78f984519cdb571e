#include "hlo/cost_analysis.h"

#include <gtest/gtest.h>

#include "hlo/text/parser.h"

namespace smelt::hlo {
namespace {

std::unique_ptr<Module> Parse(std::string_view text) {
  auto module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

TEST(CostAnalysis, DotCountsTwoPerProduct) {
  auto module = Parse(R"(
    ENTRY e { a = f32[8,16] parameter(0)  b = f32[16,32] parameter(1)
      ROOT d = f32[8,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  const CostAnalysis cost = AnalyzeCost(*module->entry()->root());
  EXPECT_EQ(cost.flops, 2 * 8 * 16 * 32);
  EXPECT_EQ(cost.operand_bytes, (std::vector<double>{8 * 16 * 4, 16 * 32 * 4}));
  EXPECT_EQ(cost.bytes_written, 8 * 32 * 4);
}

TEST(CostAnalysis, ConvolutionLeavesOutThePadding) {
  auto module = Parse(R"(
    ENTRY e { x = f32[1,4,1] parameter(0)  k = f32[3,1,1] parameter(1)
      ROOT c = f32[1,4,1] convolution(x, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f })");
  EXPECT_EQ(AnalyzeCost(*module->entry()->root()).flops, 2 * (2 + 3 + 3 + 2));
}

TEST(CostAnalysis, TranscendentalsAreCountedApart) {
  auto module = Parse(R"(
    ENTRY e { x = f32[10] parameter(0)  y = f32[10] exponential(x)  ROOT z = f32[10] add(y, x) })");
  const CostAnalysis cost = AnalyzeCost(*module->entry());
  EXPECT_EQ(cost.flops, 10);
  EXPECT_EQ(cost.transcendentals, 10);
  EXPECT_EQ(cost.bytes_read, 40);  // the intermediate value stays inside the kernel
  EXPECT_EQ(cost.bytes_written, 40);
}

TEST(CostAnalysis, SliceOfALargeParameterReadsTheSliceAndComputesTheSlice) {
  auto module = Parse(R"(
    ENTRY e { x = f32[1000] parameter(0)  y = f32[1000] negate(x)  ROOT s = f32[10] slice(y), slice={[0:10]} })");
  const CostAnalysis cost = AnalyzeCost(*module->entry());
  EXPECT_EQ(cost.flops, 10);
  EXPECT_EQ(cost.bytes_read, 40);
}

TEST(CostAnalysis, UpdateOfASliceTouchesTheSlice) {
  auto module = Parse(R"(
    ENTRY e { x = f32[1000] parameter(0)  u = f32[10] parameter(1)  i = s32[] parameter(2)
      v = f32[10] negate(u)
      ROOT d = f32[1000] dynamic-update-slice(x, v, i) })");
  const CostAnalysis cost = AnalyzeCost(*module->entry());
  EXPECT_EQ(cost.operand_bytes, (std::vector<double>{0, 40, 4}));
  EXPECT_EQ(cost.bytes_written, 40);
  const CostAnalysis alone = AnalyzeCost(*module->entry()->root());
  EXPECT_EQ(alone.bytes_read, 44);
  EXPECT_EQ(alone.bytes_written, 40);
}

TEST(CostAnalysis, GatherReadsWhatItGathers) {
  auto module = Parse(R"(
    ENTRY e { t = f32[50000,8] parameter(0)  i = s32[4,1] parameter(1)
      ROOT g = f32[4,8] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8} })");
  const CostAnalysis cost = AnalyzeCost(*module->entry()->root());
  EXPECT_EQ(cost.operand_bytes, (std::vector<double>{4 * 8 * 4, 16}));
}

TEST(CostAnalysis, ReduceCountsItsBody) {
  auto module = Parse(R"(
    sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    ENTRY e { x = f32[8,16] parameter(0)  z = f32[] constant(0)  ROOT r = f32[8] reduce(x, z), dimensions={1}, to_apply=sum })");
  EXPECT_EQ(AnalyzeCost(*module->entry()->root()).flops, 8 * 15);
}

TEST(CostAnalysis, ProgramCountsLoopsByTheirTripCount) {
  auto module = Parse(R"(
    body { s = (s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0  x = f32[100] get-tuple-element(s), index=1
      one = s32[] constant(1)  j = s32[] add(i, one)  y = f32[100] negate(x)  ROOT t = (s32[], f32[100]) tuple(j, y) }
    condition { s = (s32[], f32[100]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(7)
      ROOT c = pred[] compare(i, n), direction=LT }
    ENTRY e { s = (s32[], f32[100]) parameter(0)
      ROOT w = (s32[], f32[100]) while(s), condition=condition, body=body, backend_config={"known_trip_count":{"n":"7"}} })");
  EXPECT_EQ(AnalyzeProgramCost(*module).flops, 7 * (1 + 100 + 1));
}

}  // namespace
}  // namespace smelt::hlo
