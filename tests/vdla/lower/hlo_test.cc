// The same convolution as HLO in the evaluator and as a program of VDLA in the simulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/str_cat.h"
#include "hlo/evaluator/evaluator.h"
#include "hlo/literal.h"
#include "hlo/text/parser.h"
#include "sim/machine.h"
#include "sim/simulate.h"
#include "vdla/lower/convolution.h"
#include "vdla/lower/emit.h"
#include "vdla/lower/layer.h"

namespace smelt::vdla::lower {
namespace {

using isa::AluOp;
using isa::Config;

// A convolution, a bias for each channel, a rounding shift by 8, relu, saturation.
std::string HloOf(const Layer& l) {
  const Convolution& c = l.convolution;
  const std::string out = StrCat("[", l.images, ",", l.out_channels, ",", c.out_height(), ",", c.out_width(), "]");
  return StrCat(
      "HloModule layer\nENTRY e {\n  x = s8[", l.images, ",", l.in_channels, ",", c.height, ",", c.width,
      "] parameter(0)\n  w = s8[", l.out_channels, ",", l.in_channels, ",", c.kernel_height, ",", c.kernel_width,
      "] parameter(1)\n  b = s32[", l.out_channels, "] parameter(2)\n  sums = s32", out,
      " convolution(x, w), window={size=", c.kernel_height, "x", c.kernel_width, " stride=", c.stride_height, "x",
      c.stride_width, " pad=", c.padding.top, "_", c.padding.bottom, "x", c.padding.left, "_", c.padding.right,
      "}, dim_labels=bf01_oi01->bf01\n  bias = s32", out, " broadcast(b), dimensions={1}\n  biased = s32", out,
      " add(sums, bias)\n  half = s32[] constant(128)\n  halves = s32", out,
      " broadcast(half), dimensions={}\n  up = s32", out,
      " add(biased, halves)\n  eight = s32[] constant(8)\n  eights = s32", out,
      " broadcast(eight), dimensions={}\n  shifted = s32", out,
      " shift-right-arithmetic(up, eights)\n  zero = s32[] constant(0)\n  most = s32[] constant(127)\n  cut = s32", out,
      " clamp(zero, shifted, most)\n  ROOT r = s8", out, " convert(cut)\n}\n");
}

std::vector<int32_t> Evaluated(const Layer& l) {
  const Convolution& c = l.convolution;
  const auto module = hlo::ParseModule(HloOf(l));
  EXPECT_TRUE(module.ok()) << module.status() << HloOf(l);
  const hlo::Literal x =
      hlo::Literal::FromValues<int8_t>(hlo::PrimitiveType::kS8, {l.images, l.in_channels, c.height, c.width}, l.input);
  const hlo::Literal w = hlo::Literal::FromValues<int8_t>(
      hlo::PrimitiveType::kS8, {l.out_channels, l.in_channels, c.kernel_height, c.kernel_width}, l.weights);
  const hlo::Literal b =
      hlo::Literal::FromValues<int32_t>(hlo::PrimitiveType::kS32, {l.out_channels}, l.channel_values[0]);
  const auto result = hlo::Evaluate(**module, {&x, &w, &b});
  EXPECT_TRUE(result.ok()) << result.status();
  const auto values = result->data<int8_t>();
  return {values.begin(), values.end()};
}

std::vector<int32_t> Simulated(const Layer& layer, const ConvolutionSchedule& schedule, const Config& config) {
  Emitted emitted = Emit(ScheduleConvolution(layer.convolution, schedule).value(), config).value();
  FillSegments(layer, config, &emitted.program);
  const auto machine = sim::Machine::Create(config).value();
  EXPECT_TRUE(machine->LoadSegments(emitted.program).ok());
  const absl::Status status = sim::Simulate(*machine, emitted.program.instructions).ToStatus();
  EXPECT_TRUE(status.ok()) << status;
  const isa::Segment& output = *emitted.program.Find("output");
  return OutputOf(layer, config, machine->dram().Read(output.address, output.size).value());
}

Convolution Shifted(int64_t size, int64_t height, int64_t width, int64_t stride) {
  Convolution c{.name = "layer", .height = height, .width = width, .kernel_height = size, .kernel_width = size};
  c.stride_height = c.stride_width = stride;
  c.padding = {size / 2, size / 2, size / 2, size / 2};
  c.epilogue = {{.op = AluOp::kAdd, .operand = EpilogueOperand::kPerChannel, .name = "bias"},
                {.op = AluOp::kRshr, .imm = 8},
                {.op = AluOp::kMax, .imm = 0}};
  return c;
}

TEST(HloConvolution, LayersOfResNetAreEqual) {
  const Config config = Config::Named("pynq").value();
  const struct {
    int64_t size, height, stride, in, out;
  } kLayers[] = {{3, 14, 2, 256, 512}, {1, 28, 2, 128, 256}, {1, 14, 2, 256, 512}};
  std::mt19937 random(5);
  for (const auto& [size, height, stride, in, out] : kLayers) {
    const Layer layer = RandomLayer(Shifted(size, height, height, stride), 1, in, out, config, random);
    const ConvolutionSchedule best = ConvolutionSchedules(layer.convolution, config, 2).front();
    EXPECT_TRUE(Simulated(layer, best, config) == Evaluated(layer)) << height << "x" << height << " of " << in;
  }
}

TEST(HloConvolution, RandomShapesAreEqual) {
  const Config config = Config::Named("pynq").value();
  for (int seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
    const int64_t size = 1 + 2 * below(3);
    const Layer layer = RandomLayer(Shifted(size, size + below(10), size + below(10), 1 + below(2)), 1 + below(2),
                                    1 + below(50), 1 + below(50), config, random);
    const auto space = ConvolutionSchedules(layer.convolution, config, 1 + below(2));
    if (space.empty()) continue;
    EXPECT_TRUE(Simulated(layer, space[random() % space.size()], config) == Evaluated(layer)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace smelt::vdla::lower
