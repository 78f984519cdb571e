#include "hlo/quantize/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hlo/quantize/quantize_testing.h"

namespace smelt::hlo::quantize {
namespace {

using ::testing::HasSubstr;

// Cuts, and proves that the cut module computes the same, verifies and reads back.
Partition Cut(const Module& module, const PartitionOptions& options = {}) {
  absl::StatusOr<Partition> cut = PartitionModule(module, Int8AcceleratorRule(module), options);
  EXPECT_TRUE(cut.ok()) << cut.status();
  const absl::Status verified = VerifyModule(*cut->module);
  EXPECT_TRUE(verified.ok()) << verified << ToText(*cut->module);
  const std::string text = ToText(*cut->module);
  const absl::StatusOr<std::unique_ptr<Module>> again = ParseModule(text);
  EXPECT_TRUE(again.ok()) << again.status();
  return *std::move(cut);
}

int64_t AcceleratorRegions(const Partition& cut) {
  int64_t count = 0;
  for (const Region& region : cut.regions) count += region.accelerator;
  return count;
}

TEST(Partition, OfAConvolutionalNetworkOneRegionHoldsAllContractions) {
  const Case made = MakeCase(kResidualNet, {0});
  const QuantizedProgram quantized = MustRun(made);
  const Partition cut = Cut(*quantized.module);
  ASSERT_EQ(AcceleratorRegions(cut), 1) << PartitionToText(cut);
  for (size_t s = 0; s < made.samples.size(); ++s)
    EXPECT_EQ(*Evaluate(*cut.module, made.Arguments(s)), *Evaluate(*quantized.module, made.Arguments(s)));
  const Region& region =
      *std::find_if(cut.regions.begin(), cut.regions.end(), [](const Region& r) { return r.accelerator; });
  EXPECT_EQ(region.operations.at("convolution"), 3);
  EXPECT_EQ(region.operations.at("dot"), 1);
  EXPECT_EQ(region.bytes_in, 2 * 16 * 16 * 3) << "the quantised input";
  EXPECT_EQ(region.bytes_out, 2 * 5 * 4) << "sums, which the CPU makes floats of";
  const int64_t first = 2 * 16 * 16 * 8 * 27, others = 2 * (2 * 8 * 8 * 8 * 72), last = 2 * 5 * 8;
  EXPECT_EQ(region.multiply_adds, first + others + last);
  EXPECT_GT(region.constant_bytes, 27 * 8 + 2 * 72 * 8 + 40);
  EXPECT_EQ(region.call->opcode(), Opcode::kFusion);
  EXPECT_EQ(region.call->called(0), region.computation);
  EXPECT_EQ(region.call->operand_count(), static_cast<int64_t>(region.computation->Parameters().size()));
}

TEST(Partition, RegionsRunOneAfterTheOther) {
  const Case made = MakeCase(kTransformerBlock, {0});
  const QuantizedProgram quantized = MustRun(made);
  const Partition cut = Cut(*quantized.module);
  EXPECT_GE(AcceleratorRegions(cut), 4) << PartitionToText(cut);
  for (size_t s = 0; s < made.samples.size(); ++s)
    EXPECT_EQ(*Evaluate(*cut.module, made.Arguments(s)), *Evaluate(*quantized.module, made.Arguments(s)));
}

TEST(Partition, WhatLeavesARegionAndComesBackIsOfTwo) {
  // The sum goes on as int8 on both sides of a float operation.
  const std::unique_ptr<Module> module = Parse(R"(HloModule m
    ENTRY e { x = s8[4,4] parameter(0)  w = s8[4,4] constant({{1,2,3,4},{5,6,7,8},{1,2,3,4},{5,6,7,8}})
      a = s32[4,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      f = f32[4,4] convert(a)  t = f32[4,4] tanh(f)  b = s32[4,4] convert(t)
      c = s32[4,4] add(a, b)
      n = s8[4,4] convert(c)
      ROOT r = s32[4,4] dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  const Partition cut = Cut(*module);
  EXPECT_EQ(AcceleratorRegions(cut), 2) << PartitionToText(cut);
  std::mt19937 random(1);
  const Literal x = RandomLiteral(module->entry()->Parameters()[0]->shape(), random);
  const Literal* arguments[] = {&x};
  EXPECT_EQ(*Evaluate(*cut.module, arguments), *Evaluate(*module, arguments));
}

TEST(Partition, WhatDoesTooLittleStaysOnTheCpu) {
  const std::unique_ptr<Module> module = Parse(R"(HloModule m
    ENTRY e { x = s8[4,4] parameter(0)  ROOT t = s8[4,4] transpose(x), dimensions={1,0} })");
  const Partition cut = Cut(*module);
  EXPECT_EQ(AcceleratorRegions(cut), 0);
  EXPECT_THAT(PartitionToText(cut), HasSubstr("too little work around it: 1"));
}

TEST(Partition, TellsWhyTheCpuHasTheRest) {
  const QuantizedProgram quantized = MustRun(MakeCase(kTransformerBlock, {0}));
  const std::string text = PartitionToText(Cut(*quantized.module));
  EXPECT_THAT(text, HasSubstr("has no exponential of f32: 1"));
  EXPECT_THAT(text, HasSubstr("a dot of f32: 2"));
  EXPECT_THAT(text, HasSubstr("bytes cross in a run"));
}

TEST(Partition, AsksTheRuleThatItIsGiven) {
  const Case made = MakeCase(kMlp, {0});
  const QuantizedProgram quantized = MustRun(made);
  const AcceleratorRule int8 = Int8AcceleratorRule(*quantized.module);
  const absl::StatusOr<Partition> cut = PartitionModule(*quantized.module, [&](const Instruction& x) -> std::string {
    if (x.opcode() == Opcode::kDot && x.shape().dimensions[1] == 32) return "32 columns are too many";
    return int8(x);
  });
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(AcceleratorRegions(*cut), 2) << PartitionToText(*cut);
  EXPECT_THAT(PartitionToText(*cut), HasSubstr("32 columns are too many: 1"));
  EXPECT_EQ(*Evaluate(*cut->module, made.Arguments(0)), *Evaluate(*quantized.module, made.Arguments(0)));
}

}  // namespace
}  // namespace smelt::hlo::quantize
