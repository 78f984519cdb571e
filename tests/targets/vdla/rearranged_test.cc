// Layers whose arrays are reshaped and transposed, batches of products, depthwise convolutions, poolings and
// elementwise work: each bit against the evaluator.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/text/parser.h"
#include "targets/vdla/accelerator.h"
#include "targets/vdla/rearrangement.h"

namespace smelt::vdla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

isa::Config Pynq() { return isa::Config::Named("pynq").value(); }

// Runs the kernel under its default and two other schedules, on both simulators.
void ExpectRight(const std::string& body) {
  const std::string text = "HloModule layer\n\n" + body;
  SCOPED_TRACE(text);
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = hlo::ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto kernel = std::make_shared<const fusion::Kernel>(fusion::Kernel{*std::move(module), {}, "layer", {}});
  const absl::Status is_layer = LayerOf(kernel->computation(), Pynq()).status();
  ASSERT_TRUE(is_layer.ok()) << is_layer;
  const Accelerator accelerator(Pynq());
  const std::vector<std::string> ways = accelerator.WaysOf(kernel->computation());
  ASSERT_GT(ways.size(), 1u);  // the host, and a schedule
  std::mt19937 random(3);
  std::vector<hlo::Literal> inputs;
  std::vector<const hlo::Literal*> arguments;
  std::vector<const void*> pointers;
  for (const hlo::Instruction* parameter : kernel->computation().Parameters()) {
    hlo::Literal& literal = inputs.emplace_back(parameter->shape());
    const int64_t range = parameter->shape().element_type == hlo::PrimitiveType::kS8 ? 128 : 10000;
    for (int64_t i = 0; i < literal.element_count(); ++i)
      literal.SetInteger(i, static_cast<int64_t>(random() % (2 * range)) - range);
  }
  for (const hlo::Literal& input : inputs) {
    arguments.push_back(&input);
    pointers.push_back(input.raw());
  }
  const hlo::Literal expected = hlo::Evaluate(*kernel->module, arguments).value();
  for (const std::string& way : {std::string(), ways[ways.size() / 2], ways[ways.size() - 2]}) {
    absl::StatusOr<std::unique_ptr<LayerProgram>> program = accelerator.Build(kernel, way);
    if (!way.empty() && absl::IsInvalidArgument(program.status())) continue;  // it does not fit
    ASSERT_TRUE(program.ok()) << program.status();
    for (const sim::Timing timing : {sim::Timing::kFunctional, sim::Timing::kCycle}) {
      hlo::Literal got(expected.shape());
      const absl::Status ran = (*program)->Run(*Simulator::Create(Pynq(), timing).value(), pointers, got.raw());
      ASSERT_TRUE(ran.ok()) << ran;
      EXPECT_EQ(std::memcmp(got.raw(), expected.raw(), static_cast<size_t>(expected.byte_size())), 0) << way;
    }
  }
}

// convert_s32((convert_s64(x) * 5000000 + 2^29) >> 30) of an array of this shape, as `name`.
std::string Rescale(const std::string& name, const std::string& x, const std::string& shape) {
  return "  " + name + "_wide = s64[" + shape + "] convert(" + x + ")\n  " + name + "_m = s64[] constant(5000000)\n  " +
         name + "_ms = s64[" + shape + "] broadcast(" + name + "_m), dimensions={}\n  " + name + "_product = s64[" +
         shape + "] multiply(" + name + "_wide, " + name + "_ms)\n  " + name + "_half = s64[] constant(536870912)\n  " +
         name + "_halves = s64[" + shape + "] broadcast(" + name + "_half), dimensions={}\n  " + name + "_up = s64[" +
         shape + "] add(" + name + "_product, " + name + "_halves)\n  " + name + "_s = s64[] constant(30)\n  " + name +
         "_ss = s64[" + shape + "] broadcast(" + name + "_s), dimensions={}\n  " + name + "_shifted = s64[" + shape +
         "] shift-right-arithmetic(" + name + "_up, " + name + "_ss)\n  " + name + " = s32[" + shape + "] convert(" +
         name + "_shifted)\n";
}
std::string Narrow(const std::string& name, const std::string& x, const std::string& shape) {
  return "  " + name + "_low = s32[] constant(-128)\n  " + name + "_high = s32[] constant(127)\n  " + name +
         "_lows = s32[" + shape + "] broadcast(" + name + "_low), dimensions={}\n  " + name + "_highs = s32[" + shape +
         "] broadcast(" + name + "_high), dimensions={}\n  " + name + "_cut = s32[" + shape + "] clamp(" + name +
         "_lows, " + x + ", " + name + "_highs)\n  " + name + " = s8[" + shape + "] convert(" + name + "_cut)\n";
}

TEST(Rearrangement, PlacesFollowReshapesAndTranspositions) {
  Rearrangement moved(hlo::Shape::Array(hlo::PrimitiveType::kS32, {6, 40}));
  ASSERT_TRUE(moved.Reshape({2, 3, 40}));
  moved.Transpose({1, 0, 2});
  EXPECT_THAT(moved.PlacesOf({0}), ElementsAre(0, 80, 160, 40, 120, 200));
  EXPECT_EQ(moved.PlacesOf({1})[39], 39);
  EXPECT_TRUE(moved.Reshape({6, 8, 5}));
  EXPECT_FALSE(moved.Reshape({7, 8}));
  EXPECT_FALSE(Rearrangement(hlo::Shape::Array(hlo::PrimitiveType::kS8, {4, 6})).Reshape({3, 8}));
}

TEST(RearrangedLayer, HeadsOfAProjectionAreTransposed) {
  ExpectRight(R"(ENTRY main {
  x = s8[2,7,40] parameter(0)
  w = s8[40,3,16] parameter(1)
  sums = s32[2,7,3,16] dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
  b = s32[3,16] parameter(2)
  bs = s32[2,7,3,16] broadcast(b), dimensions={2,3}
  biased = s32[2,7,3,16] add(sums, bs)
)" + Rescale("scaled", "biased", "2,7,3,16") +
              Narrow("narrow", "scaled", "2,7,3,16") + R"(
  ROOT y = s8[2,3,7,16] transpose(narrow), dimensions={0,2,1,3}
}
)");
}

TEST(RearrangedLayer, AResidualMayBeAddedBehindAReshape) {
  ExpectRight(R"(ENTRY main {
  x = s8[14,40] parameter(0)
  w = s8[40,24] parameter(1)
  sums = s32[14,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
)" + Rescale("scaled", "sums", "14,24") +
              R"(
  split = s32[2,7,24] reshape(scaled)
  moved = s32[7,2,24] transpose(split), dimensions={1,0,2}
  r = s8[7,2,24] parameter(2)
)" + Rescale("scaled_r", "r", "7,2,24") +
              R"(
  together = s32[7,2,24] add(moved, scaled_r)
)" + Narrow("narrow", "together", "7,2,24") +
              R"(
  ROOT y = s8[7,48] reshape(narrow)
}
)");
}

TEST(RearrangedLayer, TwoDimensionsMaybeSummedAtOnce) {
  ExpectRight(R"(ENTRY main {
  x = s8[2,3,9,16] parameter(0)
  back = s8[2,9,3,16] transpose(x), dimensions={0,2,1,3}
  w = s8[3,16,20] parameter(1)
  ROOT sums = s32[2,9,20] dot(back, w), lhs_contracting_dims={2,3}, rhs_contracting_dims={0,1}
}
)");
}

TEST(RearrangedLayer, ABatchOfProductsHasWeightsOfItsOwn) {
  ExpectRight(R"(ENTRY main {
  q = s8[2,3,9,20] parameter(0)
  k = s8[2,3,11,20] parameter(1)
  ROOT scores = s32[2,3,9,11] dot(q, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={3}
}
)");
  ExpectRight(R"(ENTRY main {
  p = s8[2,3,9,11] parameter(0)
  v = s8[2,11,3,20] parameter(1)
  sums = s32[2,3,9,20] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={1}
)" + Rescale("scaled", "sums", "2,3,9,20") +
              Narrow("narrow", "scaled", "2,3,9,20") + R"(
  moved = s8[2,9,3,20] transpose(narrow), dimensions={0,2,1,3}
  ROOT y = s8[18,60] reshape(moved)
}
)");
}

TEST(RearrangedLayer, WeightsMayBeTheLeftOperand) {
  ExpectRight(R"(ENTRY main {
  w = s8[24,40] parameter(0)
  x = s8[40,9] parameter(1)
  sums = s32[24,9] dot(w, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = s32[24] parameter(2)
  bs = s32[24,9] broadcast(b), dimensions={0}
  ROOT y = s32[24,9] add(sums, bs)
}
)");
}

TEST(DepthwiseLayer, IsOneByChannel) {
  ExpectRight(R"(ENTRY main {
  x = s8[1,9,9,40] parameter(0)
  w = s8[3,3,1,40] parameter(1)
  sums = s32[1,5,5,40] convolution(x, w), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=40
  b = s32[40] parameter(2)
  bs = s32[1,5,5,40] broadcast(b), dimensions={3}
  biased = s32[1,5,5,40] add(sums, bs)
)" + Rescale("scaled", "biased", "1,5,5,40") +
              Narrow("narrow", "scaled", "1,5,5,40") + R"(
  ROOT y = s8[1,5,5,40] copy(narrow)
}
)");
}

TEST(PoolingLayer, AveragesAreSumsAndAMultiplyShift) {
  ExpectRight(R"(plus {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}

ENTRY main {
  x = s8[1,8,8,24] parameter(0)
  wide = s32[1,8,8,24] convert(x)
  zero = s32[] constant(0)
  sums = s32[1,4,4,24] reduce-window(wide, zero), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}, to_apply=plus
)" + Rescale("scaled", "sums", "1,4,4,24") +
              Narrow("narrow", "scaled", "1,4,4,24") + R"(
  ROOT y = s8[1,4,4,24] copy(narrow)
}
)");
  ExpectRight(R"(plus {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}

ENTRY main {
  x = s8[2,40,5,5] parameter(0)
  wide = s32[2,40,5,5] convert(x)
  zero = s32[] constant(0)
  ROOT sums = s32[2,40] reduce(wide, zero), dimensions={2,3}, to_apply=plus
}
)");
}

TEST(PoolingLayer, MaximaAreTakenByTheAlu) {
  ExpectRight(R"(larger {
  a = s8[] parameter(0)
  b = s8[] parameter(1)
  ROOT c = s8[] maximum(a, b)
}

ENTRY main {
  x = s8[1,11,11,20] parameter(0)
  least = s8[] constant(-100)
  ROOT y = s8[1,6,6,20] reduce-window(x, least), window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0}, to_apply=larger
}
)");
}

TEST(ElementwiseLayer, AddsTwoRescaledArrays) {
  ExpectRight("ENTRY main {\n  x = s8[1,6,7,24] parameter(0)\n  r = s8[1,6,7,24] parameter(1)\n" +
              Rescale("scaled", "x", "1,6,7,24") + Rescale("scaled_r", "r", "1,6,7,24") +
              "  sum = s32[1,6,7,24] add(scaled, scaled_r)\n" + Narrow("narrow", "sum", "1,6,7,24") +
              "  ROOT y = s8[1,6,7,24] copy(narrow)\n}\n");
}

TEST(ElementwiseLayer, ARescalingWithoutASumIsNone) {
  const auto module = hlo::ParseModule("HloModule layer\n\nENTRY main {\n  x = s8[6,7,24] parameter(0)\n" +
                                       Rescale("scaled", "x", "6,7,24") + "  ROOT y = s32[6,7,24] copy(scaled)\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(std::string(LayerOf(*(*module)->entry(), Pynq()).status().message()), HasSubstr("sums nothing"));
}

TEST(RearrangedLayer, WhatRegroupsIsRefused) {
  const auto module = hlo::ParseModule(R"(HloModule layer

ENTRY main {
  x = s8[4,16] parameter(0)
  w = s8[16,6] parameter(1)
  sums = s32[4,6] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT y = s32[3,8] reshape(sums)
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(std::string(LayerOf(*(*module)->entry(), Pynq()).status().message()), HasSubstr("`y` regroups"));
}

}  // namespace
}  // namespace smelt::vdla
