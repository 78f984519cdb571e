// GEMM on the core: every mode, the extremes of int8, accumulators that are written again at every distance.
#include <gtest/gtest.h>

#include "tests/vdla/rtl/comparison.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::rtl {
namespace {

using isa::GemmMode;
using isa::Instruction;
using isa::Memory;
using isa::MicroOp;
using isa::Opcode;
using isa::Role;

constexpr uint64_t kUops = 0, kInputs = 4096, kWeights = 65536, kBiases = 262144, kOutputs = 524288;

struct Case {
  const char* machine;
  GemmMode mode;
};
std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.machine) + "_" + std::string(NameOf(info.param.mode));
}

isa::Config ConfigOf(const std::string& machine) {
  return isa::Config::Open(machine == "pynq" ? machine : std::string(SMELT_SOURCE_DIR) + "/vdla/rtl/tiny.json").value();
}

Instruction Move(Opcode opcode, Memory memory, uint32_t base, uint32_t elements) {
  return {.opcode = opcode, .memory = memory, .dram_base = base, .y_size = 1, .x_size = elements, .x_stride = elements};
}

class RtlGemm : public testing::TestWithParam<Case> {
 protected:
  // All memories as full as 40 elements, weights 10; half of the bytes are -128 or 127.
  isa::Program Make(const std::vector<MicroOp>& uops, const Instruction& gemm) {
    const auto config = ConfigOf(GetParam().machine);
    const auto bytes = [&](Memory memory) { return static_cast<uint64_t>(config.DramElementBytes(memory)); };
    const auto extremes = [&](uint64_t size) {
      std::string text = RandomBytes(random_, size);
      for (char& byte : text) {
        if (random_() % 2 == 0) byte = random_() % 2 == 0 ? '\x80' : '\x7f';
      }
      return text;
    };
    const uint64_t inp = 40 * bytes(Memory::kInp), wgt = 10 * bytes(Memory::kWgt), acc = 40 * bytes(Memory::kAcc);
    std::vector<isa::Segment> segments = {
        {"uops", Role::kConstant, kUops, 4 * uops.size(), BytesOf(uops)},
        {"inputs", Role::kInput, kInputs, inp, extremes(inp)},
        {"weights", Role::kConstant, kWeights, wgt, extremes(wgt)},
        {"biases", Role::kConstant, kBiases, acc, RandomBytes(random_, acc)},
        {"outputs", Role::kOutput, kOutputs, acc, ""},
    };
    const auto base = [&](uint64_t address, Memory memory) { return static_cast<uint32_t>(address / bytes(memory)); };
    return OrderedProgram(
        config, segments,
        {Move(Opcode::kLoad, Memory::kUop, base(kUops, Memory::kUop), static_cast<uint32_t>(uops.size())),
         Move(Opcode::kLoad, Memory::kInp, base(kInputs, Memory::kInp), 40),
         Move(Opcode::kLoad, Memory::kWgt, base(kWeights, Memory::kWgt), 10),
         Move(Opcode::kLoad, Memory::kAcc, base(kBiases, Memory::kAcc), 40), gemm,
         Move(Opcode::kStore, Memory::kAcc, base(kOutputs, Memory::kAcc), 40)});
  }
  void ExpectEqual(const isa::Program& program) {
    const Comparison run = RunEverywhere(program);
    EXPECT_EQ(run.difference, "");
    EXPECT_EQ(run.gemm.instructions, 1);
    EXPECT_EQ(run.gemm.core, run.gemm.simulator) << "cycles";
  }
  std::mt19937_64 random_{7};
};

TEST_P(RtlGemm, EqualsTheSimulatorInBitsAndCycles) {
  std::vector<MicroOp> uops;
  for (uint32_t u = 0; u < 12; ++u) uops.push_back({u, u, u % 3});
  ExpectEqual(Make(uops, {.opcode = Opcode::kGemm,
                          .mode = GetParam().mode,
                          .uop_count = 12,
                          .iter_out = 2,
                          .iter_in = 3,
                          .dst_out = 12,
                          .dst_in = 1,
                          .src_out = 5,
                          .src_in = 4,
                          .wgt_out = 3,
                          .wgt_in = 2}));
}

// Products of -128 by -128 are the largest, 128 by 127 the least.
TEST_P(RtlGemm, SumsTheLargestProducts) {
  isa::Program program =
      Make({{0, 0, 0}, {1, 1, 0}, {2, 0, 1}, {3, 1, 1}},
           {.opcode = Opcode::kGemm, .mode = GetParam().mode, .uop_count = 4, .iter_out = 1, .iter_in = 1});
  for (isa::Segment& segment : program.segments) {
    const size_t element = segment.bytes.size() / (segment.name == "weights" ? 10 : 40);
    if (segment.name != "inputs" && segment.name != "weights") continue;
    std::fill_n(segment.bytes.begin(), element, '\x80');
    std::fill_n(segment.bytes.begin() + static_cast<int64_t>(element), element, '\x7f');
  }
  ExpectEqual(program);
}

TEST_P(RtlGemm, WaitsForAccumulatorsThatAreOnTheirWay) {
  // The same accumulator after one, two, three and more micro-ops.
  for (const std::vector<uint32_t>& order : std::vector<std::vector<uint32_t>>{{0, 0, 0, 0},
                                                                               {0, 1, 0, 1, 0},
                                                                               {0, 1, 2, 0, 1, 2},
                                                                               {0, 1, 2, 3, 0, 1, 2, 3},
                                                                               {0, 0, 1, 0, 2, 2, 1, 0, 3, 3, 3, 1}}) {
    std::vector<MicroOp> uops;
    for (const uint32_t dst : order) uops.push_back({dst, static_cast<uint32_t>(uops.size()), dst});
    ExpectEqual(Make(uops, {.opcode = Opcode::kGemm,
                            .mode = GetParam().mode,
                            .uop_count = static_cast<uint32_t>(uops.size()),
                            .iter_out = 1,
                            .iter_in = 3}));
  }
}

TEST_P(RtlGemm, WithoutMicroOpsDoesNothing) {
  const Comparison run = RunEverywhere(
      Make({{0, 0, 0}}, {.opcode = Opcode::kGemm, .mode = GetParam().mode, .uop_count = 1, .iter_out = 3}));
  EXPECT_EQ(run.difference, "");
}

INSTANTIATE_TEST_SUITE_P(Modes, RtlGemm,
                         testing::Values(Case{"pynq", GemmMode::kAccumulate}, Case{"pynq", GemmMode::kReset},
                                         Case{"pynq", GemmMode::kOverwrite}, Case{"tiny", GemmMode::kAccumulate},
                                         Case{"tiny", GemmMode::kReset}, Case{"tiny", GemmMode::kOverwrite}),
                         CaseName);

}  // namespace
}  // namespace smelt::vdla::rtl
