// The random programs that the simulator's two timings are compared on, whose units run beside each other, on the core
// too.
#include <gtest/gtest.h>

#include "bench/vdla_random_program.h"
#include "tests/vdla/rtl/comparison.h"

namespace smelt::vdla::rtl {
namespace {

using isa::Instruction;
using isa::Memory;
using isa::Opcode;

class RtlRandom : public testing::TestWithParam<const char*> {
 protected:
  const isa::Config config_ =
      isa::Config::Open(std::string(GetParam()) == "pynq" ? "pynq"
                                                          : std::string(SMELT_SOURCE_DIR) + "/vdla/rtl/tiny.json")
          .value();
};

TEST_P(RtlRandom, ProgramsEqualTheSimulator) {
  int64_t finished = 0, gemms = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Comparison run = RunEverywhere(bench::MakeRandomProgram(seed, &config_).program);
    ASSERT_EQ(run.difference, "") << "seed " << seed;
    EXPECT_EQ(run.gemm.most_apart, 0) << "cycles of a GEMM, seed " << seed;
    EXPECT_GE(run.alu.core, run.alu.simulator) << "seed " << seed;
    finished += run.report.end == sim::End::kFinished;
    gemms += run.gemm.instructions;
  }
  EXPECT_GT(finished, 180);  // three tokens a queue are too few for some
  EXPECT_GT(gemms, 300);
}

// Moves an index of one instruction outside its memory or DRAM: the first that has one, from `start` on. -1: there is
// none.
int64_t BreakOneIndex(isa::Program& program, int64_t start) {
  const auto depth = [&](Memory memory) { return static_cast<uint32_t>(program.config.DepthOf(memory)); };
  for (int64_t number = start; number < static_cast<int64_t>(program.instructions.size()); ++number) {
    Instruction& i = program.instructions[static_cast<size_t>(number)];
    const bool moves = i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore;
    const auto elements = static_cast<uint32_t>(SramRowsOf(i) * SramRowElementsOf(i));
    if (moves && elements > 0 && number % 2 == 0) {
      i.sram_base = depth(i.memory) - elements + 1;
    } else if (moves && i.y_size * i.x_size > 0) {
      const int64_t last = program.config.dram_bytes / program.config.DramElementBytes(i.memory);
      i.dram_base = static_cast<uint32_t>(last) - i.x_size + 1;
    } else if (!moves && i.iter_out > 1 && i.iter_in * i.uop_count > 0 && number % 2 == 0) {
      i.dst_out = 4095;
    } else if (!moves && MicroOpsOf(i) > 0) {
      i.uop_begin = depth(Memory::kUop) - i.uop_count + 1;
    } else {
      continue;
    }
    return number;
  }
  return -1;
}

TEST_P(RtlRandom, ProgramsWithOneIndexOutsideStopAtItsInstruction) {
  int traps = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    isa::Program program = bench::MakeRandomProgram(1000 + seed, &config_).program;
    const int64_t broken = BreakOneIndex(program, static_cast<int64_t>(seed % 20));
    const Comparison run = RunEverywhere(program);
    ASSERT_EQ(run.difference, "") << "seed " << seed;
    if (run.report.end != sim::End::kTrap) continue;
    EXPECT_EQ(run.core.trap->instruction, broken) << "seed " << seed;
    ++traps;
  }
  EXPECT_GT(traps, 60);
}

INSTANTIATE_TEST_SUITE_P(Machines, RtlRandom, testing::Values("pynq", "tiny"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace smelt::vdla::rtl
