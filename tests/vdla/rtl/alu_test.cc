// Every operation of the ALU, with an immediate and with two accumulators, on the values at which it might go wrong.
#include "vdla/isa/alu.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/vdla/rtl/comparison.h"

namespace smelt::vdla::rtl {
namespace {

using isa::AluOp;
using isa::Instruction;
using isa::Memory;
using isa::MicroOp;
using isa::Opcode;
using isa::Role;

constexpr int kLanes = 16;
constexpr uint64_t kUops = 0, kX = 65536, kOutputs = 524288;

std::vector<int32_t> Extremes() {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> values = {kLeast, kLeast + 1, kMost, kMost - 1, 0};
  for (const int32_t value : {1,  2,  3,  5,  7,   15,  16,  30,  31,    32,    33,      55,     56,
                              57, 63, 64, 65, 127, 128, 255, 256, 32767, 32768, 1 << 23, 1 << 30})
    values.insert(values.end(), {value, -value});
  return values;
}
// Multipliers and shifts of MULSHIFT at their ends.
std::vector<int32_t> Scales() {
  std::vector<int32_t> values;
  for (const int multiplier : {-(1 << 23), -(1 << 23) + 1, -77, -1, 0, 1, 2, 77, (1 << 23) - 1}) {
    for (const int shift : {0, 1, 2, 22, 23, 31, 32, 40, 53, 54, 55, 56, 57, 63, 64, 128, 255})
      values.push_back(isa::MulShiftOperand(multiplier, shift).value());
  }
  return values;
}

// x in every lane, one value an element, against one y in each element; y lies behind the xs.
isa::Program Make(const isa::Config& config, const std::vector<int32_t>& xs, const std::vector<int32_t>& ys,
                  const Instruction& alu) {
  std::vector<int32_t> lanes;
  for (size_t e = 0; e < ys.size(); ++e) {
    for (int lane = 0; lane < kLanes; ++lane) lanes.push_back(xs[(e * kLanes + static_cast<size_t>(lane)) % xs.size()]);
  }
  for (const int32_t y : ys) lanes.insert(lanes.end(), kLanes, y);
  const auto elements = static_cast<uint32_t>(2 * ys.size());
  const std::vector<MicroOp> uops = {{0, elements / 2, 0}};
  const uint64_t bytes = 64 * uint64_t{elements};
  const auto move = [&](Opcode opcode, Memory memory, uint64_t address, uint32_t count) {
    return Instruction{
        .opcode = opcode,
        .memory = memory,
        .dram_base = static_cast<uint32_t>(address / static_cast<uint64_t>(config.DramElementBytes(memory))),
        .y_size = 1,
        .x_size = count,
        .x_stride = count};
  };
  return OrderedProgram(config,
                        {{"uops", Role::kConstant, kUops, 4, BytesOf(uops)},
                         {"x", Role::kInput, kX, bytes, BytesOf(lanes)},
                         {"outputs", Role::kOutput, kOutputs, bytes, ""}},
                        {move(Opcode::kLoad, Memory::kUop, kUops, 1), move(Opcode::kLoad, Memory::kAcc, kX, elements),
                         alu, move(Opcode::kStore, Memory::kAcc, kOutputs, elements)});
}

class RtlAlu : public testing::TestWithParam<int> {
 protected:
  AluOp op() const { return static_cast<AluOp>(GetParam()); }
};

TEST_P(RtlAlu, OnTwoAccumulatorsEqualsTheSimulator) {
  const isa::Config config = isa::Config::Named("pynq").value();
  // Each y meets sixteen xs an element; the ys are repeated until each has met all of them.
  const std::vector<int32_t> xs = Extremes();
  std::vector<int32_t> ys;
  for (size_t repeat = 0; repeat * kLanes < xs.size() + kLanes; ++repeat) {
    for (const int32_t y : op() == AluOp::kMulShift ? Scales() : Extremes()) ys.push_back(y);
  }
  if (ys.size() > 1024) ys.resize(1024);
  const Comparison run = RunEverywhere(Make(config, xs, ys,
                                            {.opcode = Opcode::kAlu,
                                             .op = op(),
                                             .uop_count = 1,
                                             .iter_out = 1,
                                             .iter_in = static_cast<uint32_t>(ys.size()),
                                             .dst_in = 1,
                                             .src_in = 1}));
  EXPECT_EQ(run.difference, "");
  EXPECT_EQ(run.alu.core, run.alu.simulator) << "cycles";
}

TEST_P(RtlAlu, OnAnImmediateEqualsTheSimulator) {
  const isa::Config config = isa::Config::Named("pynq").value();
  const std::vector<int32_t> xs = Extremes();
  const std::vector<int32_t> ys((xs.size() + kLanes - 1) / kLanes, 0);
  std::vector<int32_t> immediates = {-32768, -32767, -257, -256, -64, -33, -32, -31, -2,  -1,  0,
                                     1,      2,      31,   32,   33,  64,  127, 255, 256, 257, 32767};
  const uint32_t elements = static_cast<uint32_t>(ys.size());
  isa::Program program = Make(config, xs, ys, {.opcode = Opcode::kAlu});
  // One pass an immediate: load, compute, store elsewhere.
  const std::vector<Instruction> once = program.instructions;
  std::vector<Instruction> instructions = {once[0]};
  for (size_t n = 0; n < immediates.size(); ++n) {
    Instruction load = once[1], store = once[3];
    store.dram_base += static_cast<uint32_t>(n) * 2 * elements;
    for (Instruction* move : {&load, &store})
      move->pop_prev = move->pop_next = move->push_prev = move->push_next = false;
    instructions.push_back(load);
    instructions.push_back({.opcode = Opcode::kAlu,
                            .use_imm = true,
                            .op = op(),
                            .uop_count = 1,
                            .iter_out = elements,
                            .iter_in = 1,
                            .dst_out = 1,
                            .imm = immediates[n]});
    instructions.push_back(store);
  }
  program.segments.back().size *= immediates.size();
  const Comparison run = RunEverywhere(OrderedProgram(config, program.segments, instructions));
  EXPECT_EQ(run.difference, "");
  EXPECT_EQ(run.alu.core, run.alu.simulator) << "cycles";
}

// Each micro-op reads what the one before it wrote; the core waits, which the simulator's time does not count.
TEST_P(RtlAlu, OnItsOwnResultsWaitsForThem) {
  const isa::Config config = isa::Config::Named("pynq").value();
  const std::vector<int32_t> xs = {3, -5, 100, 70000, -1 << 20, 1, 0, 12345, -6789, 2};
  const std::vector<int32_t> ys = {1, 2, -1, 3, 259, 5};
  for (const bool immediate : {false, true}) {
    for (const uint32_t step : {0u, 1u}) {
      const Comparison run = RunEverywhere(Make(config, xs, ys,
                                                {.opcode = Opcode::kAlu,
                                                 .use_imm = immediate,
                                                 .op = op(),
                                                 .uop_count = 1,
                                                 .iter_out = 5,
                                                 .iter_in = 2,
                                                 .dst_out = 1,
                                                 .dst_in = 0,
                                                 .src_out = step,
                                                 .imm = 3}));
      EXPECT_EQ(run.difference, "");
      EXPECT_GE(run.alu.core, run.alu.simulator);
    }
  }
}

std::string OpName(const testing::TestParamInfo<int>& info) {
  return std::string(NameOf(static_cast<AluOp>(info.param)));
}
INSTANTIATE_TEST_SUITE_P(Operations, RtlAlu, testing::Range(0, isa::kAluOps), OpName);

}  // namespace
}  // namespace smelt::vdla::rtl
