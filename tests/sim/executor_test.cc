// What instructions compute and move, beside plain loops; and what they trap.
#include "sim/executor.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/run_text.h"
#include "vdla/isa/alu.h"
#include "vdla/isa/encoding.h"

namespace smelt::sim {
namespace {

using ::testing::HasSubstr;
using vdla::isa::AluOp;
using vdla::isa::Config;
using vdla::isa::Instruction;
using vdla::isa::Memory;
using vdla::isa::Opcode;

// A machine with random bytes at the start of its DRAM.
struct Filled {
  explicit Filled(const Config& config, uint64_t seed = 1)
      : machine(Machine::Create(config).value()), executor(*machine) {
    std::mt19937_64 random(seed);
    bytes.resize(1 << 18);
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_TRUE(machine->dram().Write(0, bytes).ok());
  }
  std::string Element(Memory memory, int64_t element) const { return machine->ReadElement(memory, element).value(); }

  std::unique_ptr<Machine> machine;
  Executor executor;
  std::string bytes;
};

// An element of padding or of DRAM as the memory on the chip should hold it.
std::string Expected(const Filled& filled, Memory memory, int64_t dram_element, const Instruction& i, bool padding) {
  const Config& config = filled.machine->config();
  const int64_t lanes = config.DramElementBytes(memory == Memory::kAcc ? Memory::kAcc8 : memory);
  std::string bytes;
  const auto put = [&](int32_t value) {
    const int size = memory == Memory::kAcc || memory == Memory::kAcc8 ? 4 : 1;
    for (int b = 0; b < size; ++b) bytes.push_back(static_cast<char>(value >> (8 * b)));
  };
  if (!padding && memory != Memory::kAcc8)
    return filled.bytes.substr(static_cast<size_t>(dram_element * config.DramElementBytes(memory)),
                               static_cast<size_t>(config.DramElementBytes(memory)));
  for (int64_t lane = 0; lane < lanes; ++lane)
    put(padding ? i.pad_value : static_cast<int8_t>(filled.bytes[static_cast<size_t>(dram_element * lanes + lane)]));
  return bytes;
}

Config Blocks(int64_t batch, int64_t in, int64_t out) {
  Config config = Config::Named("pynq").value();
  config.batch = batch, config.block_in = in, config.block_out = out;
  config.dram_bytes = 1 << 20;
  config.inp_bytes = 2048 * batch * in, config.wgt_bytes = 128 * in * out, config.acc_bytes = 2048 * batch * out * 4;
  return config;
}

TEST(Load, PadsOnAllFourSidesOfEveryMemory) {
  for (const Config& config : {Blocks(1, 16, 16), Blocks(2, 16, 8), Blocks(3, 5, 7)}) {
    Filled filled(config);
    const struct {
      uint32_t y_before, y_after, x_before, x_after;
    } pads[] = {{15, 0, 0, 0}, {0, 15, 0, 0},    {0, 0, 15, 0}, {0, 0, 0, 15},
                {1, 2, 3, 4},  {15, 15, 15, 15}, {0, 0, 0, 0}};
    for (const Memory memory : {Memory::kInp, Memory::kWgt, Memory::kAcc, Memory::kAcc8}) {
      for (const auto& pad : pads) {
        for (const int32_t value : {-128, -1, 0, 127}) {
          Instruction i{.opcode = Opcode::kLoad,
                        .memory = memory,
                        .sram_base = 3,
                        .dram_base = 5,
                        .y_size = 3,
                        .x_size = 2,
                        .x_stride = 7,
                        .y_pad_before = pad.y_before,
                        .y_pad_after = pad.y_after,
                        .x_pad_before = pad.x_before,
                        .x_pad_after = pad.x_after,
                        .pad_value = value};
          const auto width = static_cast<int64_t>(SramRowElementsOf(i)), rows = static_cast<int64_t>(SramRowsOf(i));
          if (i.sram_base + width * rows > config.DepthOf(memory)) continue;  // weights are few
          ASSERT_TRUE(filled.executor.Execute(i, 0).ok());
          for (int64_t row = 0; row < rows; ++row) {
            for (int64_t x = 0; x < width; ++x) {
              const int64_t y = row - pad.y_before, column = x - pad.x_before;
              const bool padding = y < 0 || y >= 3 || column < 0 || column >= 2;
              ASSERT_EQ(filled.Element(memory, 3 + row * width + x),
                        Expected(filled, memory, 5 + y * 7 + column, i, padding))
                  << NameOf(memory) << " " << row << " " << x;
            }
          }
        }
      }
    }
  }
}

TEST(Load, TakesRowsInAnyDistance) {
  Filled filled(Blocks(1, 16, 16));
  for (const uint32_t stride : {0u, 1u, 2u, 3u, 100u}) {
    const Instruction i{
        .opcode = Opcode::kLoad, .memory = Memory::kInp, .dram_base = 9, .y_size = 4, .x_size = 2, .x_stride = stride};
    ASSERT_TRUE(filled.executor.Execute(i, 0).ok());
    for (uint32_t e = 0; e < 8; ++e)
      EXPECT_EQ(filled.Element(Memory::kInp, e), filled.bytes.substr((9 + e / 2 * stride + e % 2) * size_t{16}, 16));
  }
}

TEST(Load, WithoutDataWritesPaddingAlone) {
  Filled filled(Blocks(1, 16, 16));
  ASSERT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kLoad,
                            .memory = Memory::kInp,
                            .dram_base = UINT32_MAX,
                            .y_size = 2,
                            .x_pad_before = 1,
                            .pad_value = 7},
                           0)
                  .ok());
  EXPECT_EQ(filled.Element(Memory::kInp, 1), std::string(16, '\7'));
  EXPECT_EQ(filled.Element(Memory::kInp, 2), std::string(16, '\0'));
  ASSERT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kLoad,
                            .memory = Memory::kInp,
                            .sram_base = 9,
                            .x_size = 3,
                            .x_stride = 3,
                            .y_pad_after = 1,
                            .pad_value = 8},
                           0)
                  .ok());
  EXPECT_EQ(filled.Element(Memory::kInp, 11), std::string(16, '\10'));
}

TEST(Store, SaturatesToInt8AndWritesInt32AsItIs) {
  Filled filled(Blocks(1, 16, 16));
  const std::vector<int32_t> lanes = {INT32_MIN, -129, -128, -127, -1,        0,     1,      126,
                                      127,       128,  255,  256,  INT32_MAX, 65536, -65536, 42};
  std::string bytes(64, '\0');
  std::memcpy(bytes.data(), lanes.data(), 64);
  ASSERT_TRUE(filled.machine->dram().Write(64 * 10, bytes).ok());
  ASSERT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kLoad,
                            .memory = Memory::kAcc,
                            .sram_base = 1,
                            .dram_base = 10,
                            .y_size = 1,
                            .x_size = 1},
                           0)
                  .ok());
  ASSERT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kStore,
                            .memory = Memory::kAcc8,
                            .sram_base = 1,
                            .dram_base = 1000,
                            .y_size = 1,
                            .x_size = 1},
                           0)
                  .ok());
  ASSERT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kStore,
                            .memory = Memory::kAcc,
                            .sram_base = 1,
                            .dram_base = 20,
                            .y_size = 1,
                            .x_size = 1},
                           0)
                  .ok());
  const std::string narrow = filled.machine->dram().Read(16000, 16).value();
  for (size_t lane = 0; lane < lanes.size(); ++lane)
    EXPECT_EQ(static_cast<int8_t>(narrow[lane]), std::min(std::max(lanes[lane], -128), 127)) << lane;
  EXPECT_EQ(filled.machine->dram().Read(64 * 20, 64).value(), bytes);
}

TEST(Store, SkipsBetweenRows) {
  Filled filled(Blocks(1, 16, 16));
  ASSERT_TRUE(
      filled.executor
          .Execute({.opcode = Opcode::kLoad, .memory = Memory::kAcc8, .dram_base = 0, .y_size = 1, .x_size = 6}, 0)
          .ok());
  ASSERT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kStore,
                            .memory = Memory::kAcc8,
                            .dram_base = 1000,
                            .y_size = 3,
                            .x_size = 2,
                            .x_stride = 5},
                           0)
                  .ok());
  std::string want = filled.bytes.substr(16000, 16 * 12);
  for (size_t row = 0; row < 3; ++row) want.replace(row * 80, 32, filled.bytes.substr(row * 32, 32));
  EXPECT_EQ(filled.machine->dram().Read(16000, 16 * 12).value(), want);
}

TEST(Gemm, KernelsOfEveryWidthGiveTheSameBits) {
  std::mt19937_64 random(1);
  for (const int64_t out : {1, 5, 8, 16, 24, 32, 64}) {
    for (const int64_t in : {1, 2, 3, 16, 17, 32}) {
      const GemmBlock block{1 + static_cast<int64_t>(random() % 3), in, out};
      const int64_t paired = PairedLanes(in);
      std::vector<int16_t> inp(static_cast<size_t>(2 * block.batch * paired)),
          wgt(static_cast<size_t>(2 * paired * out));
      // The ends of int8 make the largest sums.
      for (auto* lanes : {&inp, &wgt}) {
        for (int16_t& lane : *lanes) lane = random() % 3 == 0 ? -128 : static_cast<int8_t>(random());
      }
      std::vector<int32_t> start(static_cast<size_t>(2 * block.batch * out)), first;
      for (int32_t& lane : start) lane = static_cast<int32_t>(random());
      const std::vector<GemmStep> steps = {
          {0, 0, 0}, {block.batch * out, block.batch * paired, paired * out}, {0, block.batch * paired, 0}};
      for (const GemmKernel kernel : GemmKernels(out)) {
        std::vector<int32_t> acc = start;
        kernel(acc.data(), inp.data(), wgt.data(), steps, block);
        if (first.empty()) first = acc;
        EXPECT_EQ(acc, first) << in << " x " << out;
      }
    }
  }
}

// The nest as docs/vdla.md writes it, on bytes.
TEST(Gemm, IsTheNestOfTheDocument) {
  std::mt19937_64 random(2);
  const auto up = [&](uint64_t most) { return static_cast<uint32_t>(random() % most); };
  for (const Config& config : {Blocks(1, 16, 16), Blocks(2, 16, 8), Blocks(3, 5, 7)}) {
    Filled filled(config);
    const int64_t lanes = config.batch * config.block_out;
    for (const Instruction& load :
         {Instruction{.opcode = Opcode::kLoad, .memory = Memory::kInp, .y_size = 1, .x_size = 1000},
          Instruction{.opcode = Opcode::kLoad, .memory = Memory::kWgt, .y_size = 1, .x_size = 128},
          Instruction{.opcode = Opcode::kLoad, .memory = Memory::kAcc, .y_size = 1, .x_size = 1000}}) {
      ASSERT_TRUE(filled.executor.Execute(load, 0).ok());
    }
    std::vector<std::vector<int32_t>> acc(1000);
    for (int64_t e = 0; e < 1000; ++e) {
      acc[static_cast<size_t>(e)].resize(static_cast<size_t>(lanes));
      std::memcpy(acc[static_cast<size_t>(e)].data(), filled.bytes.data() + e * lanes * 4,
                  static_cast<size_t>(lanes * 4));
    }
    for (int round = 0; round < 60; ++round) {
      Instruction i{.opcode = Opcode::kGemm,
                    .mode = static_cast<vdla::isa::GemmMode>(round % 3),
                    .uop_begin = up(50),
                    .uop_count = up(6),
                    .iter_out = up(5),
                    .iter_in = up(5),
                    .dst_out = up(60),
                    .dst_in = up(60),
                    .src_out = up(60),
                    .src_in = up(60),
                    .wgt_out = up(8),
                    .wgt_in = up(8)};
      std::string uops;
      std::vector<vdla::isa::MicroOp> ops;
      for (uint32_t u = 0; u < i.uop_count; ++u) {
        ops.push_back({up(400), up(400), up(60)});
        const uint32_t word = EncodeMicroOp(ops.back());
        for (int b = 0; b < 4; ++b) uops.push_back(static_cast<char>(word >> (8 * b)));
      }
      ASSERT_TRUE(filled.machine->dram().Write(1 << 19, uops).ok());
      ASSERT_TRUE(filled.executor
                      .Execute({.opcode = Opcode::kLoad,
                                .memory = Memory::kUop,
                                .sram_base = i.uop_begin,
                                .dram_base = 1 << 17,
                                .y_size = 1,
                                .x_size = i.uop_count},
                               0)
                      .ok());
      ASSERT_TRUE(filled.executor.Execute(i, 0).ok());
      for (uint32_t o = 0; o < i.iter_out; ++o) {
        for (uint32_t n = 0; n < i.iter_in; ++n) {
          for (const vdla::isa::MicroOp& op : ops) {
            const size_t d = op.dst + o * i.dst_out + n * i.dst_in, s = op.src + o * i.src_out + n * i.src_in,
                         w = op.wgt + o * i.wgt_out + n * i.wgt_in;
            for (int64_t b = 0; b < config.batch; ++b) {
              for (int64_t c = 0; c < config.block_out; ++c) {
                int32_t& lane = acc[d][static_cast<size_t>(b * config.block_out + c)];
                uint32_t sum = i.mode == vdla::isa::GemmMode::kAccumulate ? static_cast<uint32_t>(lane) : 0;
                for (int64_t k = 0; k < config.block_in && i.mode != vdla::isa::GemmMode::kReset; ++k) {
                  const auto x =
                      static_cast<int8_t>(filled.bytes[s * static_cast<size_t>(config.batch * config.block_in) +
                                                       static_cast<size_t>(b * config.block_in + k)]);
                  const auto y =
                      static_cast<int8_t>(filled.bytes[w * static_cast<size_t>(config.block_in * config.block_out) +
                                                       static_cast<size_t>(c * config.block_in + k)]);
                  sum += static_cast<uint32_t>(x * y);
                }
                lane = static_cast<int32_t>(sum);
              }
            }
          }
        }
      }
    }
    for (int64_t e = 0; e < 1000; ++e) {
      const std::string have = filled.Element(Memory::kAcc, e);
      ASSERT_EQ(std::memcmp(have.data(), acc[static_cast<size_t>(e)].data(), have.size()), 0) << e;
    }
  }
}

TEST(Alu, EveryOperationOnTensorsAndImmediatesAtTheEnds) {
  Filled filled(Blocks(1, 16, 16));
  const std::vector<int32_t> ends = {INT32_MIN, INT32_MIN + 1, -65536,   -32769, -129, -33, -32, -31, -1, 0, 1, 31, 32,
                                     33,        127,           INT32_MAX};
  ASSERT_EQ(ends.size(), 16u);
  // Element 0 holds x; elements 1 to 16 hold one y each, turned, so that every pair meets.
  std::string data(17 * 64, '\0');
  std::memcpy(data.data(), ends.data(), 64);
  for (size_t turn = 0; turn < 16; ++turn) {
    for (size_t lane = 0; lane < 16; ++lane)
      std::memcpy(data.data() + 64 * (turn + 1) + 4 * lane, &ends[(lane + turn) % 16], 4);
  }
  ASSERT_TRUE(filled.machine->dram().Write(0, data).ok());
  ASSERT_TRUE(filled.machine->dram().Write(1 << 19, std::string("\0\x10\0\0", 4)).ok());  // micro-op 0: dst 0, src 1
  ASSERT_TRUE(
      filled.executor
          .Execute({.opcode = Opcode::kLoad, .memory = Memory::kUop, .dram_base = 1 << 17, .y_size = 1, .x_size = 1}, 0)
          .ok());
  const Instruction load{.opcode = Opcode::kLoad, .memory = Memory::kAcc, .y_size = 1, .x_size = 17};
  for (int op = 0; op < vdla::isa::kAluOps; ++op) {
    for (size_t turn = 0; turn < 16; ++turn) {
      ASSERT_TRUE(filled.executor.Execute(load, 0).ok());
      const Instruction tensor{.opcode = Opcode::kAlu,
                               .op = static_cast<AluOp>(op),
                               .uop_count = 1,
                               .iter_out = 2,
                               .iter_in = 1,
                               .dst_out = 100,
                               .src_out = 100};
      Instruction one = tensor;
      one.iter_out = 1;
      // The second iteration, moved by 100, works on zeros beyond.
      filled.machine->dram()
          .Write(1 << 19, std::string(1, '\0') + static_cast<char>((turn + 1) << 4) +
                              std::string(1, static_cast<char>((turn + 1) >> 4)) + std::string(1, '\0'))
          .IgnoreError();
      ASSERT_TRUE(
          filled.executor
              .Execute(
                  {.opcode = Opcode::kLoad, .memory = Memory::kUop, .dram_base = 1 << 17, .y_size = 1, .x_size = 1}, 0)
              .ok());
      ASSERT_TRUE(filled.executor.Execute(one, 0).ok());
      std::string have = filled.Element(Memory::kAcc, 0);
      for (size_t lane = 0; lane < 16; ++lane) {
        int32_t value;
        std::memcpy(&value, have.data() + 4 * lane, 4);
        EXPECT_EQ(value, vdla::isa::ApplyAlu(static_cast<AluOp>(op), ends[lane], ends[(lane + turn) % 16]))
            << NameOf(static_cast<AluOp>(op));
      }
    }
    for (const int32_t imm : {-32768, -32767, -256, -40, -32, -31, -1, 0, 1, 8, 31, 32, 40, 127, 255, 256, 32767}) {
      ASSERT_TRUE(filled.executor.Execute(load, 0).ok());
      ASSERT_TRUE(filled.executor
                      .Execute({.opcode = Opcode::kAlu,
                                .use_imm = true,
                                .op = static_cast<AluOp>(op),
                                .uop_count = 1,
                                .iter_out = 1,
                                .iter_in = 1,
                                .imm = imm},
                               0)
                      .ok());
      const std::string have = filled.Element(Memory::kAcc, 0);
      for (size_t lane = 0; lane < 16; ++lane) {
        int32_t value;
        std::memcpy(&value, have.data() + 4 * lane, 4);
        EXPECT_EQ(value, vdla::isa::ApplyAlu(static_cast<AluOp>(op), ends[lane], imm))
            << NameOf(static_cast<AluOp>(op)) << " " << imm;
      }
    }
  }
}

struct Trapped {
  Instruction instruction;
  const char* message;
};
TEST(Traps, NameTheInstructionAndTheIndex) {
  Filled filled(Blocks(1, 16, 16));
  ASSERT_TRUE(filled.machine->dram().Write(1 << 19, std::string(64, '\0')).ok());
  ASSERT_TRUE(
      filled.executor
          .Execute({.opcode = Opcode::kLoad, .memory = Memory::kUop, .dram_base = 1 << 17, .y_size = 1, .x_size = 4}, 0)
          .ok());
  const Trapped cases[] = {
      {{.opcode = Opcode::kLoad, .memory = Memory::kInp, .sram_base = 2047, .y_size = 1, .x_size = 2},
       "instruction 7 (LOAD INP): row 0 writes elements 2047 to 2048 of INP, which has 2048"},
      {{.opcode = Opcode::kLoad, .memory = Memory::kWgt, .sram_base = 128, .y_size = 1, .x_size = 1},
       "instruction 7 (LOAD WGT): row 0 writes elements 128 to 128 of WGT, which has 128"},
      {{.opcode = Opcode::kLoad,
        .memory = Memory::kUop,
        .sram_base = 8191,
        .dram_base = 1 << 17,
        .y_size = 2,
        .x_size = 1},
       "instruction 7 (LOAD UOP): row 1 writes elements 8192"},
      {{.opcode = Opcode::kLoad, .memory = Memory::kAcc, .sram_base = 2048, .y_pad_before = 1, .x_pad_before = 1},
       "instruction 7 (LOAD ACC): row 0 writes elements 2048"},
      {{.opcode = Opcode::kLoad, .memory = Memory::kInp, .dram_base = 65535, .y_size = 1, .x_size = 2},
       "instruction 7 (LOAD INP): row 0 reads 32 bytes at address 1048560 of DRAM, which has 1048576"},
      {{.opcode = Opcode::kLoad, .memory = Memory::kInp, .dram_base = UINT32_MAX, .y_size = 1, .x_size = 1}, "of DRAM"},
      {{.opcode = Opcode::kStore, .memory = Memory::kAcc, .sram_base = 2047, .y_size = 1, .x_size = 2},
       "instruction 7 (STORE ACC): row 0 reads elements 2047 to 2048 of ACC"},
      {{.opcode = Opcode::kStore, .memory = Memory::kAcc8, .dram_base = 65536, .y_size = 1, .x_size = 1},
       "instruction 7 (STORE ACC8): row 0 writes 16 bytes at address 1048576 of DRAM"},
      {{.opcode = Opcode::kGemm, .uop_begin = 8191, .uop_count = 2, .iter_out = 1, .iter_in = 1},
       "instruction 7 (GEMM): micro-op 8192 is outside UOP"},
      {{.opcode = Opcode::kGemm, .uop_count = 1, .iter_out = 1, .iter_in = 2, .dst_in = 2048},
       "instruction 7 (GEMM): dst is 2048 in iteration (0, 1) of micro-op 0, outside ACC, which has 2048"},
      {{.opcode = Opcode::kGemm, .uop_count = 1, .iter_out = 2, .iter_in = 1, .src_out = 2048},
       "instruction 7 (GEMM): src is 2048 in iteration (1, 0) of micro-op 0, outside INP"},
      {{.opcode = Opcode::kGemm, .uop_count = 1, .iter_out = 2, .iter_in = 1, .wgt_out = 128},
       "instruction 7 (GEMM): wgt is 128 in iteration (1, 0) of micro-op 0, outside WGT"},
      {{.opcode = Opcode::kAlu, .op = AluOp::kAdd, .uop_count = 1, .iter_out = 1, .iter_in = 2, .src_in = 2048},
       "instruction 7 (ALU ADD): src is 2048"},
  };
  for (const Trapped& trapped : cases) {
    const absl::Status status = filled.executor.Execute(trapped.instruction, 7);
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(status.message()), HasSubstr(trapped.message));
  }
  // A reset does not look at inputs, nor an immediate at src.
  EXPECT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kGemm,
                            .mode = vdla::isa::GemmMode::kReset,
                            .uop_count = 1,
                            .iter_out = 2,
                            .iter_in = 1,
                            .src_out = 4000,
                            .wgt_out = 255},
                           0)
                  .ok());
  EXPECT_TRUE(
      filled.executor
          .Execute(
              {.opcode = Opcode::kAlu, .use_imm = true, .uop_count = 1, .iter_out = 2, .iter_in = 1, .src_out = 4000},
              0)
          .ok());
}

TEST(Traps, KeepWhatCameBeforeAndNothingElse) {
  Filled filled(Blocks(1, 16, 16));
  EXPECT_FALSE(filled.executor
                   .Execute({.opcode = Opcode::kLoad,
                             .memory = Memory::kInp,
                             .sram_base = 2046,
                             .y_size = 3,
                             .x_size = 1,
                             .x_stride = 1},
                            0)
                   .ok());
  EXPECT_EQ(filled.Element(Memory::kInp, 2046), filled.bytes.substr(0, 16));
  EXPECT_EQ(filled.Element(Memory::kInp, 2047), filled.bytes.substr(16, 16));
  ASSERT_TRUE(filled.executor
                  .Execute({.opcode = Opcode::kLoad,
                            .memory = Memory::kUop,
                            .sram_base = 0,
                            .dram_base = (1 << 18) - 4,
                            .y_size = 1,
                            .x_size = 1},
                           0)
                  .ok());
  EXPECT_FALSE(filled.executor
                   .Execute({.opcode = Opcode::kAlu,
                             .use_imm = true,
                             .op = AluOp::kMov,
                             .uop_count = 1,
                             .iter_out = 3,
                             .iter_in = 1,
                             .dst_out = 1024,
                             .imm = 9},
                            0)
                   .ok());
  EXPECT_EQ(filled.Element(Memory::kAcc, 0).substr(0, 4), std::string("\x09\0\0\0", 4));
  EXPECT_EQ(filled.Element(Memory::kAcc, 1024).substr(0, 4), std::string("\x09\0\0\0", 4));
}

}  // namespace
}  // namespace smelt::sim
