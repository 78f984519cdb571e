// Convolutions that vdla/lower made into programs, on the Verilog core: against plain loops, and in the simulator's
// time.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>

#include "sim/machine.h"
#include "sim/simulate.h"
#include "sim/trace.h"
#include "vdla/lower/convolution.h"
#include "vdla/lower/emit.h"
#include "vdla/lower/layer.h"
#include "vdla/rtl/test_bench.h"

namespace smelt::vdla::rtl {
namespace {

struct Sums {
  int64_t gemm = 0, alu = 0;
};
Sums CyclesOf(const isa::Program& program, const std::vector<sim::Retired>& retired) {
  Sums sums;
  for (const sim::Retired& one : retired) {
    const isa::Opcode opcode = program.instructions[static_cast<size_t>(one.instruction)].opcode;
    if (opcode == isa::Opcode::kGemm) sums.gemm += one.end - one.start;
    if (opcode == isa::Opcode::kAlu) sums.alu += one.end - one.start;
  }
  return sums;
}

double Apart(int64_t core, int64_t simulator) {
  return std::abs(static_cast<double>(core - simulator)) / static_cast<double>(simulator);
}

void ExpectRight(lower::Convolution convolution, int64_t in_channels, int64_t out_channels, int64_t threads) {
  const isa::Config config = isa::Config::Named("pynq").value();
  std::mt19937 random(1);
  const lower::Layer layer = lower::RandomLayer(std::move(convolution), 1, in_channels, out_channels, config, random);
  const std::vector<lower::ConvolutionSchedule> space = lower::ConvolutionSchedules(layer.convolution, config, threads);
  ASSERT_FALSE(space.empty());
  lower::Emitted emitted =
      lower::Emit(lower::ScheduleConvolution(layer.convolution, space.front()).value(), config).value();
  isa::Program& program = emitted.program;
  lower::FillSegments(layer, config, &program);

  const std::unique_ptr<sim::Machine> core = sim::Machine::Create(config).value();
  const std::unique_ptr<sim::Machine> simulator = sim::Machine::Create(config).value();
  ASSERT_TRUE(core->LoadSegments(program).ok());
  ASSERT_TRUE(simulator->LoadSegments(program).ok());
  const CoreRun run = RunOnCore(program, core->dram()).value();
  sim::Trace trace;
  const sim::Report report = sim::Simulate(*simulator, program.instructions, {.trace = &trace});
  ASSERT_TRUE(report.ToStatus().ok()) << report.message;
  ASSERT_FALSE(run.trap.has_value()) << NameOf(run.trap->code);

  const isa::Segment& output = *program.Find("output");
  const std::string bytes = core->dram().Read(output.address, output.size).value();
  EXPECT_TRUE(lower::OutputOf(layer, config, bytes) == lower::Reference(layer));
  EXPECT_EQ(bytes, simulator->dram().Read(output.address, output.size).value());
  const Sums here = CyclesOf(program, run.retired), there = CyclesOf(program, trace.retired);
  EXPECT_LE(Apart(here.gemm, there.gemm), 0.02);
  EXPECT_LE(Apart(here.alu, there.alu), 0.02);
  EXPECT_LE(Apart(run.cycles, report.cycles), 0.1);
  std::printf("%s, %d threads; cycles of core and simulator: GEMM %lld %lld, ALU %lld %lld, all %lld %lld\n",
              layer.convolution.name.c_str(), static_cast<int>(threads), static_cast<long long>(here.gemm),
              static_cast<long long>(there.gemm), static_cast<long long>(here.alu), static_cast<long long>(there.alu),
              static_cast<long long>(run.cycles), static_cast<long long>(report.cycles));
}

lower::Convolution Square(std::string name, int64_t size, int64_t kernel, int64_t stride) {
  lower::Convolution c{
      .name = std::move(name), .height = size, .width = size, .kernel_height = kernel, .kernel_width = kernel};
  c.stride_height = c.stride_width = stride;
  const int64_t pad = kernel / 2;
  c.padding = {pad, pad, pad, pad};
  c.epilogue = lower::RequantizeEpilogue(/*residual=*/false, /*relu=*/true);
  return c;
}

// The last convolution of ResNet-18, C12 of the TVM paper's table; with a quarter of its output's channels, so that it
// takes a quarter of the time.
TEST(LoweredOnRtl, TheLastLayerOfResNet18IsRight) { ExpectRight(Square("C12", 7, 3, 1), 512, 128, 2); }

TEST(LoweredOnRtl, OneByOneWithAStrideIsRight) {
  for (const int64_t threads : {1, 2}) ExpectRight(Square("C7", 28, 1, 2), 128, 256, threads);
}

TEST(LoweredOnRtl, ChannelsThatFillNoBlockAreRight) { ExpectRight(Square("ragged", 9, 3, 1), 20, 40, 1); }

}  // namespace
}  // namespace smelt::vdla::rtl
