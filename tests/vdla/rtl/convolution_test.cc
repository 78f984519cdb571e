// The layer C12 of the TVM paper's table (ResNet-18: 7 x 7, 512 to 512 channels, 3 x 3): a tiled program that computes while it loads, on the
// core and on the simulator, against plain loops.
#include <gtest/gtest.h>

#include <iostream>

#include "sim/machine.h"
#include "tests/vdla/rtl/comparison.h"
#include "vdla/isa/alu.h"

namespace smelt::vdla::rtl {
namespace {

using isa::AluOp;
using isa::Instruction;
using isa::Memory;
using isa::MicroOp;
using isa::Opcode;
using isa::Role;

constexpr uint32_t kSize = 7, kPadded = kSize + 2, kKernel = 3, kBlock = 16;
constexpr uint32_t kPixels = kSize * kSize, kPaddedPixels = kPadded * kPadded, kTaps = kKernel * kKernel;
constexpr uint32_t kBlocksIn = 32;
constexpr uint32_t kBlocksOut = 8;  // a quarter of the layer's; each is the same work
constexpr uint32_t kChunk = 4;      // blocks of input channels that are loaded together
constexpr uint32_t kChunks = kBlocksIn / kChunk;

// Bytes in DRAM. Inputs lie as (C/16, H, W, 16), weights as (O/16, I/16, H, W, 16, 16), outputs as inputs.
constexpr uint32_t kUops = 0, kInput = 4096, kWeights = 1 << 20, kScales = kWeights + (4 << 20), kOutput = kScales + 65536;
constexpr uint32_t kScaleAcc = 2 * kPixels;  // element of the accumulators at which biases and scales lie, two a block

struct Layer {
  std::string input, weights;
  std::vector<int32_t> scales;  // for each block of output channels 16 biases, then 16 operands of MULSHIFT

  int8_t InputAt(uint32_t channel, int y, int x) const {
    if (y < 0 || x < 0 || y >= static_cast<int>(kSize) || x >= static_cast<int>(kSize)) return 0;
    const uint32_t pixel = static_cast<uint32_t>(y) * kSize + static_cast<uint32_t>(x);
    return static_cast<int8_t>(input[(channel / kBlock * kPixels + pixel) * kBlock + channel % kBlock]);
  }
  int8_t WeightAt(uint32_t out, uint32_t in, uint32_t tap) const {
    const uint32_t element = (out / kBlock * kBlocksIn + in / kBlock) * kTaps + tap;
    return static_cast<int8_t>(weights[(element * kBlock + out % kBlock) * kBlock + in % kBlock]);
  }
  int8_t OutputAt(uint32_t out, int y, int x) const {
    int32_t sum = 0;
    for (uint32_t in = 0; in < kBlocksIn * kBlock; ++in) {
      for (uint32_t tap = 0; tap < kTaps; ++tap) {
        sum += InputAt(in, y + static_cast<int>(tap / kKernel) - 1, x + static_cast<int>(tap % kKernel) - 1) *
               WeightAt(out, in, tap);
      }
    }
    const uint32_t at = out / kBlock * 2 * kBlock + out % kBlock;
    const int64_t scaled = int64_t{sum + scales[at]} * (scales[at + kBlock] >> 8);
    const int shift = scales[at + kBlock] & 255;
    const int64_t rounded = (scaled + (int64_t{1} << (shift - 1))) >> shift;
    return static_cast<int8_t>(rounded < 0 ? 0 : rounded > 127 ? 127 : rounded);  // a ReLU after the scale
  }
};

// What a chunk's GEMM walks: three taps of a kernel's row over all pixels, micro-ops in an order in which an accumulator comes again after 49.
std::vector<MicroOp> MicroOps() {
  std::vector<MicroOp> uops;
  for (uint32_t tap = 0; tap < kKernel; ++tap) {
    for (uint32_t y = 0; y < kSize; ++y) {
      for (uint32_t x = 0; x < kSize; ++x) uops.push_back({y * kSize + x, y * kPadded + x + tap, tap});
    }
  }
  return uops;
}

// Two buffers each of inputs, weights and accumulators: while one is computed with, the other is loaded or stored.
std::vector<Instruction> Instructions(uint32_t uop_count) {
  std::vector<Instruction> all = {
      {.opcode = Opcode::kLoad, .memory = Memory::kUop, .y_size = 1, .x_size = uop_count, .x_stride = uop_count},
      {.opcode = Opcode::kLoad,
       .memory = Memory::kAcc,
       .sram_base = kScaleAcc,
       .dram_base = kScales / 64,
       .y_size = 1,
       .x_size = 2 * kBlocksOut,
       .x_stride = 2 * kBlocksOut}};
  uint32_t step = 0;
  for (uint32_t out = 0; out < kBlocksOut; ++out) {
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk, ++step) {
      const uint32_t buffer = step % 2;
      const bool last_steps = step + 2 >= kBlocksOut * kChunks;
      for (uint32_t block = 0; block < kChunk; ++block) {
        all.push_back({.opcode = Opcode::kLoad,
                       .pop_next = block == 0 && step >= 2,
                       .memory = Memory::kInp,
                       .sram_base = (buffer * kChunk + block) * kPaddedPixels,
                       .dram_base = kInput / kBlock + (chunk * kChunk + block) * kPixels,
                       .y_size = kSize,
                       .x_size = kSize,
                       .x_stride = kSize,
                       .y_pad_before = 1,
                       .y_pad_after = 1,
                       .x_pad_before = 1,
                       .x_pad_after = 1});
      }
      all.push_back({.opcode = Opcode::kLoad,
                     .push_next = true,
                     .memory = Memory::kWgt,
                     .sram_base = buffer * kChunk * kTaps,
                     .dram_base = kWeights / 256 + (out * kBlocksIn + chunk * kChunk) * kTaps,
                     .y_size = 1,
                     .x_size = kChunk * kTaps,
                     .x_stride = kChunk * kTaps});
      // Buffers are chosen by an instruction for each block of input channels: its micro-ops name the first ones, and a loop of one iteration cannot add. So
      // the micro-ops of the second buffer lie behind those of the first.
      if (chunk == 0) {
        all.push_back({.opcode = Opcode::kGemm,
                       .pop_next = out >= 2,  // the store of these accumulators is done
                       .mode = isa::GemmMode::kReset,
                       .uop_begin = out % 2 * 2 * kKernel * kPixels,
                       .uop_count = kPixels,
                       .iter_out = 1,
                       .iter_in = 1});
      }
      all.push_back({.opcode = Opcode::kGemm,
                     .pop_prev = true,
                     .push_prev = !last_steps,
                     .uop_begin = (out % 2 * 2 + buffer) * kKernel * kPixels,
                     .uop_count = kKernel * kPixels,
                     .iter_out = kChunk,
                     .iter_in = kKernel,
                     .src_out = kPaddedPixels,
                     .src_in = kPadded,
                     .wgt_out = kTaps,
                     .wgt_in = kKernel});
    }
    const Instruction tensor{.opcode = Opcode::kAlu,
                             .uop_begin = 4 * kKernel * kPixels + out,
                             .uop_count = 1,
                             .iter_out = 1,
                             .iter_in = kPixels,
                             .dst_in = 1};
    Instruction bias = tensor, scale = tensor, relu = tensor;
    bias.op = AluOp::kAdd;
    scale.op = AluOp::kMulShift;
    scale.uop_begin += kBlocksOut;
    relu.use_imm = true;
    relu.op = AluOp::kMax;
    relu.push_next = true;
    for (const Instruction& alu : {bias, scale, relu}) all.push_back(alu);
    all.push_back({.opcode = Opcode::kStore,
                   .pop_prev = true,
                   .push_prev = true,
                   .memory = Memory::kAcc8,
                   .sram_base = out % 2 * kPixels,
                   .dram_base = kOutput / kBlock + out * kPixels,
                   .y_size = 1,
                   .x_size = kPixels,
                   .x_stride = kPixels});
  }
  // The last two stores are waited for by an instruction each.
  all.push_back({.opcode = Opcode::kLoad, .pop_next = true, .memory = Memory::kAcc});
  all.push_back({.opcode = Opcode::kFinish, .pop_next = true});
  return all;
}

isa::Program ProgramOf(const Layer& layer) {
  std::vector<MicroOp> uops;
  for (uint32_t acc = 0; acc < 2; ++acc) {
    for (uint32_t buffer = 0; buffer < 2; ++buffer) {
      for (MicroOp op : MicroOps())
        uops.push_back({op.dst + acc * kPixels, op.src + buffer * kChunk * kPaddedPixels, op.wgt + buffer * kChunk * kTaps});
    }
  }
  for (uint32_t half = 0; half < 2; ++half) {  // biases, then scales
    for (uint32_t out = 0; out < kBlocksOut; ++out) uops.push_back({out % 2 * kPixels, kScaleAcc + 2 * out + half, 0});
  }
  isa::Program program{.name = "c12", .config = isa::Config::Named("pynq").value()};
  program.instructions = Instructions(static_cast<uint32_t>(uops.size()));
  program.segments = {{"uops", Role::kConstant, kUops, 4 * uops.size(), BytesOf(uops)},
                      {"input", Role::kInput, kInput, layer.input.size(), layer.input},
                      {"weights", Role::kConstant, kWeights, layer.weights.size(), layer.weights},
                      {"scales", Role::kConstant, kScales, 4 * layer.scales.size(), BytesOf(layer.scales)},
                      {"output", Role::kOutput, kOutput, uint64_t{kBlocksOut} * kPixels * kBlock, ""}};
  return program;
}

TEST(Convolution, C12EqualsPlainLoopsAndTheSimulatorsTime) {
  std::mt19937_64 random(3);
  Layer layer{.input = RandomBytes(random, kBlocksIn * kPixels * kBlock),
              .weights = RandomBytes(random, size_t{kBlocksOut} * kBlocksIn * kTaps * kBlock * kBlock)};
  for (uint32_t out = 0; out < kBlocksOut; ++out) {
    for (uint32_t n = 0; n < kBlock; ++n) layer.scales.push_back(static_cast<int32_t>(random() % 200000) - 100000);
    for (uint32_t n = 0; n < kBlock; ++n)
      layer.scales.push_back(isa::MulShiftOperand(static_cast<int>(random() % 1000), 22).value());
  }
  isa::Program program = ProgramOf(layer);
  std::string expected;
  for (uint32_t block = 0; block < kBlocksOut; ++block) {
    for (uint32_t pixel = 0; pixel < kPixels; ++pixel) {
      for (uint32_t n = 0; n < kBlock; ++n) {
        expected.push_back(static_cast<char>(
            layer.OutputAt(block * kBlock + n, static_cast<int>(pixel / kSize), static_cast<int>(pixel % kSize))));
      }
    }
  }

  const Comparison run = RunEverywhere(program);
  ASSERT_EQ(run.difference, "");
  program.segments.push_back({"expected", Role::kResult, kOutput, expected.size(), expected});
  const auto machine = sim::Machine::Create(program.config).value();
  ASSERT_TRUE(machine->LoadSegments(program).ok());
  ASSERT_TRUE(RunOnCore(program, machine->dram()).ok());
  EXPECT_TRUE(machine->CheckResults(program).ok()) << machine->CheckResults(program);

  EXPECT_EQ(run.report.gemm_micro_ops, uint64_t{kBlocksOut} * kBlocksIn * kTaps * kPixels);
  EXPECT_LE(run.gemm.most_apart, 0.02);
  EXPECT_LE(run.alu.most_apart, 0.02);
  EXPECT_NEAR(static_cast<double>(run.core.cycles) / static_cast<double>(run.report.cycles), 1, 0.1);
  std::cout << "cycles, core and simulator: GEMM " << run.gemm.core << " " << run.gemm.simulator << ", ALU " << run.alu.core << " "
            << run.alu.simulator << ", all " << run.core.cycles << " " << run.report.cycles << "\n";
}

}  // namespace
}  // namespace smelt::vdla::rtl
