// Random programs, whose units run beside each other, on the core and on both timings of the simulator.
#include <gtest/gtest.h>

#include "tests/vdla/random_program.h"
#include "tests/vdla/rtl/comparison.h"

namespace smelt::vdla::rtl {
namespace {

isa::Config ConfigOf(const std::string& machine) {
  return isa::Config::Open(machine == "pynq" ? machine : std::string(SMELT_SOURCE_DIR) + "/vdla/rtl/tiny.json").value();
}

class Random : public testing::TestWithParam<const char*> {};

TEST_P(Random, ProgramsEqualTheSimulator) {
  Durations gemm;
  int64_t instructions = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const isa::Program program = RandomProgram(ConfigOf(GetParam()), seed, 10 + static_cast<int>(seed % 50));
    const Comparison run = RunEverywhere(program);
    ASSERT_EQ(run.difference, "") << "seed " << seed;
    if (!run.core.trap) instructions += static_cast<int64_t>(run.core.retired.size());
    EXPECT_EQ(run.gemm.most_apart, 0) << "cycles of a GEMM, seed " << seed;
    EXPECT_GE(run.alu.core, run.alu.simulator) << "seed " << seed;
    gemm.instructions += run.gemm.instructions;
  }
  EXPECT_GT(gemm.instructions, 300);
  EXPECT_GT(instructions, 3000);
}

TEST_P(Random, ProgramsWithOneIndexOutsideStopAtItsInstruction) {
  int traps = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    isa::Program program = RandomProgram(ConfigOf(GetParam()), 1000 + seed, 20);
    const int64_t broken = BreakOneIndex(program, seed);
    const Comparison run = RunEverywhere(program);
    ASSERT_EQ(run.difference, "") << "seed " << seed;
    if (!run.core.trap) continue;
    EXPECT_EQ(run.core.trap->instruction, broken) << "seed " << seed;
    ++traps;
  }
  EXPECT_GT(traps, 80);
}

INSTANTIATE_TEST_SUITE_P(Machines, Random, testing::Values("pynq", "tiny"), [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace smelt::vdla::rtl
