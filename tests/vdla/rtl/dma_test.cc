// LOAD with padding on every side, of every memory; STORE with and without saturation; rows, strides, bursts and their
// ends.
#include <gtest/gtest.h>

#include "tests/vdla/rtl/comparison.h"

namespace smelt::vdla::rtl {
namespace {

using isa::Instruction;
using isa::Memory;
using isa::MicroOp;
using isa::Opcode;
using isa::Role;

constexpr uint64_t kIn = 8192, kUops = 4096, kOut = 400000;

class RtlDma : public testing::TestWithParam<const char*> {
 protected:
  const isa::Config config_ =
      isa::Config::Open(std::string(GetParam()) == "pynq" ? "pynq"
                                                          : std::string(SMELT_SOURCE_DIR) + "/vdla/rtl/tiny.json")
          .value();
  uint32_t Base(uint64_t address, Memory memory) const {
    return static_cast<uint32_t>(address / static_cast<uint64_t>(config_.DramElementBytes(memory)));
  }
  Instruction Whole(Opcode opcode, Memory memory, uint64_t address, uint32_t elements) const {
    return {.opcode = opcode,
            .memory = memory,
            .dram_base = Base(address, memory),
            .y_size = 1,
            .x_size = elements,
            .x_stride = elements};
  }
  std::mt19937_64 random_{11};
};

// Accumulators go out as they came in, padding with them.
TEST_P(RtlDma, LoadsAccumulatorsWithPaddingOnAllSides) {
  struct Shape {
    uint32_t y, x, stride, top, bottom, left, right;
    int32_t value;
  };
  for (const Shape& s : std::vector<Shape>{{3, 5, 5, 0, 0, 0, 0, 0},
                                           {3, 5, 7, 1, 0, 0, 0, -128},
                                           {3, 5, 9, 0, 2, 0, 0, 127},
                                           {3, 5, 5, 0, 0, 1, 0, -1},
                                           {3, 5, 6, 0, 0, 0, 3, 5},
                                           {2, 3, 40, 1, 1, 1, 1, 7},
                                           {1, 1, 1, 0, 0, 15, 15, -3},
                                           {1, 1, 0, 15, 15, 0, 0, 9},
                                           {0, 5, 5, 1, 1, 1, 1, 3},
                                           {3, 0, 5, 1, 1, 1, 1, 4},
                                           {5, 2, 0, 0, 0, 0, 0, 0},
                                           {0, 0, 0, 0, 0, 0, 0, 0}}) {
    for (const Memory memory : {Memory::kAcc, Memory::kAcc8}) {
      const uint32_t elements = 47;
      const uint64_t acc = 64 * uint64_t{elements};
      const std::vector<isa::Segment> segments = {{"in", Role::kInput, kIn, 16384, RandomBytes(random_, 16384)},
                                                  {"wide", Role::kOutput, kOut, acc, ""},
                                                  {"narrow", Role::kOutput, kOut + 65536, acc / 4, ""}};
      const Comparison run =
          RunEverywhere(OrderedProgram(config_, segments,
                                       {Whole(Opcode::kLoad, Memory::kAcc, kIn, elements),
                                        {.opcode = Opcode::kLoad,
                                         .memory = memory,
                                         .sram_base = 1,
                                         .dram_base = Base(kIn, memory) + 3,
                                         .y_size = s.y,
                                         .x_size = s.x,
                                         .x_stride = s.stride,
                                         .y_pad_before = s.top,
                                         .y_pad_after = s.bottom,
                                         .x_pad_before = s.left,
                                         .x_pad_after = s.right,
                                         .pad_value = s.value},
                                        Whole(Opcode::kStore, Memory::kAcc, kOut, elements),
                                        Whole(Opcode::kStore, Memory::kAcc8, kOut + 65536, elements)}));
      EXPECT_EQ(run.difference, "") << NameOf(memory) << " " << s.y << "x" << s.x;
    }
  }
}

// What was loaded shows in products: each input by a weight of ones, each weight by an input of ones.
TEST_P(RtlDma, LoadsInputsAndWeightsWithPadding) {
  for (const Memory memory : {Memory::kInp, Memory::kWgt}) {
    std::vector<MicroOp> uops;
    for (uint32_t u = 0; u < 10; ++u) uops.push_back(memory == Memory::kInp ? MicroOp{u, u, 9} : MicroOp{u, 99, u});
    const std::string ones(4096, '\1');
    const std::vector<isa::Segment> segments = {{"uops", Role::kConstant, kUops, 40, BytesOf(uops)},
                                                {"in", Role::kInput, kIn, 65536, RandomBytes(random_, 65536)},
                                                {"ones", Role::kConstant, kIn + 65536, 4096, ones},
                                                {"out", Role::kOutput, kOut, 640, ""}};
    const Memory other = memory == Memory::kInp ? Memory::kWgt : Memory::kInp;
    Instruction load_ones = Whole(Opcode::kLoad, other, kIn + 65536, 1);
    load_ones.sram_base = other == Memory::kWgt ? 9 : 99;
    Instruction load{.opcode = Opcode::kLoad,
                     .memory = memory,
                     .dram_base = Base(kIn, memory) + 1,
                     .y_size = 2,
                     .x_size = 1,
                     .x_stride = 3,
                     .y_pad_after = 1,
                     .x_pad_before = 1,
                     .x_pad_after = 1,
                     .pad_value = -7};
    const Comparison run = RunEverywhere(OrderedProgram(
        config_, segments,
        {Whole(Opcode::kLoad, Memory::kUop, kUops, 10),
         load_ones,
         load,
         {.opcode = Opcode::kGemm, .mode = isa::GemmMode::kOverwrite, .uop_count = 9, .iter_out = 1, .iter_in = 1},
         Whole(Opcode::kStore, Memory::kAcc, kOut, 10)}));
    EXPECT_EQ(run.difference, "") << NameOf(memory);
  }
}

// Rows of micro-ops begin and end in the middle of a beat, at every offset.
TEST_P(RtlDma, LoadsMicroOpsAtAnyAddress) {
  std::vector<MicroOp> uops;
  for (uint32_t u = 0; u < 400; ++u) uops.push_back({u * 7 % 40, 0, 0});
  for (const uint32_t offset : {0u, 1u, 2u, 3u, 5u, 7u, 31u, 63u}) {
    const uint32_t rows = 4, columns = 5 + offset % 4;
    const std::vector<isa::Segment> segments = {{"uops", Role::kConstant, kUops, 1600, BytesOf(uops)},
                                                {"out", Role::kOutput, kOut, 64 * 40, ""}};
    const Comparison run = RunEverywhere(OrderedProgram(config_, segments,
                                                        {{.opcode = Opcode::kLoad,
                                                          .memory = Memory::kUop,
                                                          .sram_base = offset % 3,
                                                          .dram_base = Base(kUops, Memory::kUop) + offset,
                                                          .y_size = rows,
                                                          .x_size = columns,
                                                          .x_stride = columns + 60 - offset},
                                                         {.opcode = Opcode::kAlu,
                                                          .use_imm = true,
                                                          .op = isa::AluOp::kAdd,
                                                          .uop_begin = offset % 3,
                                                          .uop_count = rows * columns,
                                                          .iter_out = 1,
                                                          .iter_in = 1,
                                                          .imm = 1},
                                                         Whole(Opcode::kStore, Memory::kAcc, kOut, 40)}));
    EXPECT_EQ(run.difference, "") << offset;
  }
}

TEST_P(RtlDma, StoresSaturateAndStride) {
  std::vector<int32_t> values;
  for (const int32_t value : {0, 1, -1, 126, 127, 128, 129, -127, -128, -129, 255, 256, -256, 32767, -32768, 1 << 30})
    values.push_back(value);
  // A product that is too large for 32 bits keeps its low ones.
  while (values.size() < 16 * 40)
    values.push_back(static_cast<int32_t>(static_cast<uint32_t>(values[values.size() - 16]) * 3 + 1));
  for (const Memory memory : {Memory::kAcc, Memory::kAcc8}) {
    for (const uint32_t stride : {0u, 4u, 5u, 11u}) {
      const std::vector<isa::Segment> segments = {{"in", Role::kInput, kIn, 2560, BytesOf(values)},
                                                  {"out", Role::kOutput, kOut, 65536, ""}};
      const Comparison run = RunEverywhere(OrderedProgram(config_, segments,
                                                          {Whole(Opcode::kLoad, Memory::kAcc, kIn, 40),
                                                           {.opcode = Opcode::kStore,
                                                            .memory = memory,
                                                            .sram_base = 2,
                                                            .dram_base = Base(kOut, memory) + 5,
                                                            .y_size = 9,
                                                            .x_size = 4,
                                                            .x_stride = stride}}));
      EXPECT_EQ(run.difference, "") << NameOf(memory) << " " << stride;
    }
  }
}

// A store's token comes when its bytes are in DRAM: the load that pops it reads them.
TEST_P(RtlDma, ALoadReadsWhatAStoreWrote) {
  const std::vector<isa::Segment> segments = {{"in", Role::kInput, kIn, 2560, RandomBytes(random_, 2560)},
                                              {"out", Role::kOutput, kOut, 2560, ""},
                                              {"again", Role::kOutput, kOut + 65536, 2560, ""}};
  std::vector<Instruction> instructions;
  for (int n = 0; n < 5; ++n) {
    instructions.push_back(Whole(Opcode::kLoad, Memory::kAcc, n == 0 ? kIn : kOut, 40));
    instructions.push_back(Whole(Opcode::kStore, Memory::kAcc, kOut, 40));
    instructions.back().sram_base = static_cast<uint32_t>(n);
    instructions.back().x_size -= static_cast<uint32_t>(n);
  }
  instructions.push_back(Whole(Opcode::kLoad, Memory::kAcc, kOut, 40));
  instructions.push_back(Whole(Opcode::kStore, Memory::kAcc, kOut + 65536, 40));
  EXPECT_EQ(RunEverywhere(OrderedProgram(config_, segments, instructions)).difference, "");
}

INSTANTIATE_TEST_SUITE_P(Machines, RtlDma, testing::Values("pynq", "tiny"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace smelt::vdla::rtl
