// What is wrong stops the core with a code and the instruction's number, the same one that the simulator names.
#include <gtest/gtest.h>

#include "sim/machine.h"
#include "tests/vdla/rtl/comparison.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::rtl {
namespace {

using isa::Instruction;
using isa::Memory;
using isa::MicroOp;
using isa::Opcode;

isa::Config Pynq() { return isa::Config::Named("pynq").value(); }
isa::Config Tiny() { return isa::Config::Open(std::string(SMELT_SOURCE_DIR) + "/vdla/rtl/tiny.json").value(); }

Instruction Load(Memory memory, uint32_t sram_base, uint32_t y_size, uint32_t x_size) {
  return {.opcode = Opcode::kLoad,
          .memory = memory,
          .sram_base = sram_base,
          .y_size = y_size,
          .x_size = x_size,
          .x_stride = x_size};
}

// The trap of `bad` after two instructions that are well. Micro-op 0 is `uop`.
std::optional<Trap> TrapOf(const isa::Config& config, const MicroOp& uop, const Instruction& bad) {
  const std::vector<isa::Segment> segments = {{"uops", isa::Role::kConstant, 0, 4, BytesOf(std::vector<MicroOp>{uop})}};
  const isa::Program program =
      OrderedProgram(config, segments, {Load(Memory::kUop, 0, 1, 1), Load(Memory::kAcc, 0, 1, 4), bad});
  const Comparison run = RunEverywhere(program);
  EXPECT_EQ(run.difference, "");
  EXPECT_EQ(run.report.end, run.core.trap ? sim::End::kTrap : sim::End::kFinished) << run.report.message;
  return run.core.trap;
}

Trap At2(TrapCode code) { return {.code = code, .instruction = 2}; }
// A store and a load of the other unit have an instruction in between that carries the token.
constexpr int64_t kAfterCompute = 2;

TEST(RtlTrap, LoadsOutsideTheirMemories) {
  for (const isa::Config& config : {Pynq(), Tiny()}) {
    const struct {
      Memory memory;
      TrapCode code;
    } cases[] = {{Memory::kUop, TrapCode::kUop},
                 {Memory::kInp, TrapCode::kInp},
                 {Memory::kWgt, TrapCode::kWgt},
                 {Memory::kAcc, TrapCode::kAcc},
                 {Memory::kAcc8, TrapCode::kAcc}};
    for (const auto& c : cases) {
      const auto depth = static_cast<uint32_t>(config.DepthOf(c.memory));
      EXPECT_EQ(TrapOf(config, {}, Load(c.memory, depth - 4, 2, 2)), std::nullopt) << NameOf(c.memory);
      EXPECT_EQ(TrapOf(config, {}, Load(c.memory, depth - 3, 2, 2)), At2(c.code)) << NameOf(c.memory);
      if (c.memory == Memory::kUop) continue;
      Instruction padded = Load(c.memory, depth - 4, 1, 2);
      padded.y_pad_after = 1;
      EXPECT_EQ(TrapOf(config, {}, padded), std::nullopt) << NameOf(c.memory);
      padded.x_pad_after = 1;
      EXPECT_EQ(TrapOf(config, {}, padded), At2(c.code)) << NameOf(c.memory);
    }
  }
}

TEST(RtlTrap, RowsOutsideDram) {
  for (const isa::Config& config : {Pynq(), Tiny()}) {
    for (const Memory memory : {Memory::kUop, Memory::kInp, Memory::kWgt, Memory::kAcc, Memory::kAcc8}) {
      const auto end = static_cast<uint32_t>(config.dram_bytes / config.DramElementBytes(memory));
      Instruction load = Load(memory, 0, 3, 2);
      load.dram_base = end - 6;
      EXPECT_EQ(TrapOf(config, {}, load), std::nullopt) << NameOf(memory);
      load.dram_base = end - 5;
      EXPECT_EQ(TrapOf(config, {}, load), At2(TrapCode::kDram)) << NameOf(memory);
      load.dram_base = 0xffffffff;
      EXPECT_EQ(TrapOf(config, {}, load), At2(TrapCode::kDram)) << NameOf(memory);
      if (memory != Memory::kAcc && memory != Memory::kAcc8) continue;
      Instruction store = load;
      store.opcode = Opcode::kStore;
      EXPECT_EQ(TrapOf(config, {}, store), (Trap{TrapCode::kDram, kAfterCompute})) << NameOf(memory);
      store.dram_base = end - 6;
      EXPECT_EQ(TrapOf(config, {}, store), std::nullopt) << NameOf(memory);
      store.sram_base = static_cast<uint32_t>(config.DepthOf(memory)) - 5;
      EXPECT_EQ(TrapOf(config, {}, store), (Trap{TrapCode::kAcc, kAfterCompute})) << NameOf(memory);
    }
  }
}

TEST(RtlTrap, IndicesOfMicroOps) {
  for (const isa::Config& config : {Pynq(), Tiny()}) {
    const auto depth = [&](Memory memory) { return static_cast<uint32_t>(config.DepthOf(memory)); };
    const Instruction gemm{.opcode = Opcode::kGemm, .uop_count = 1, .iter_out = 2, .iter_in = 2};
    const auto changed = [&](uint32_t Instruction::*field, uint32_t value) {
      Instruction other = gemm;
      other.*field = value;
      return other;
    };
    EXPECT_EQ(TrapOf(config, {}, gemm), std::nullopt);
    // The last iteration of both loops reaches the last element, and one more lies outside.
    EXPECT_EQ(TrapOf(config, {depth(Memory::kAcc) - 2, 0, 0}, changed(&Instruction::dst_out, 1)), std::nullopt);
    EXPECT_EQ(TrapOf(config, {depth(Memory::kAcc) - 2, 0, 0}, changed(&Instruction::dst_out, 2)), At2(TrapCode::kAcc));
    EXPECT_EQ(TrapOf(config, {0, depth(Memory::kInp) - 2, 0}, changed(&Instruction::src_in, 1)), std::nullopt);
    EXPECT_EQ(TrapOf(config, {0, depth(Memory::kInp) - 2, 0}, changed(&Instruction::src_in, 2)), At2(TrapCode::kInp));
    EXPECT_EQ(TrapOf(config, {0, 0, depth(Memory::kWgt) - 2}, changed(&Instruction::wgt_out, 1)), std::nullopt);
    EXPECT_EQ(TrapOf(config, {0, 0, depth(Memory::kWgt) - 2}, changed(&Instruction::wgt_out, 2)), At2(TrapCode::kWgt));
    EXPECT_EQ(TrapOf(config, {}, changed(&Instruction::uop_begin, depth(Memory::kUop) - 1)), std::nullopt);
    EXPECT_EQ(TrapOf(config, {}, changed(&Instruction::uop_begin, depth(Memory::kUop))), At2(TrapCode::kUop));
    // A reset reads nothing, an immediate no second accumulator.
    Instruction reset = gemm;
    reset.mode = isa::GemmMode::kReset;
    EXPECT_EQ(TrapOf(config, {0, 4095, 255}, reset), std::nullopt);
    Instruction alu{
        .opcode = Opcode::kAlu, .use_imm = true, .op = isa::AluOp::kAdd, .uop_count = 1, .iter_out = 2, .iter_in = 1};
    EXPECT_EQ(TrapOf(config, {0, 4095, 255}, alu), std::nullopt);
    alu.use_imm = false;
    EXPECT_EQ(TrapOf(config, {0, 4095, 255}, alu), At2(TrapCode::kAcc));
    alu.src_out = 4095;
    EXPECT_EQ(TrapOf(config, {}, alu), At2(TrapCode::kAcc));
  }
}

// The factors' and counts' ends: the sums do not wrap around.
TEST(RtlTrap, LargestOffsets) {
  Instruction gemm{.opcode = Opcode::kGemm,
                   .mode = isa::GemmMode::kReset,
                   .uop_count = 1,
                   .iter_out = 2,
                   .iter_in = 1,
                   .dst_out = 4095};
  EXPECT_EQ(TrapOf(Pynq(), {4095, 0, 0}, gemm), At2(TrapCode::kAcc));
  gemm = {.opcode = Opcode::kGemm, .uop_count = 1, .iter_out = 4095, .iter_in = 4095, .wgt_out = 255, .wgt_in = 255};
  EXPECT_EQ(TrapOf(Pynq(), {}, gemm), At2(TrapCode::kWgt));
}

std::optional<Trap> TrapOfBytes(const std::string& instructions) {
  const std::unique_ptr<sim::Machine> machine = sim::Machine::Create(Pynq()).value();
  const absl::StatusOr<CoreRun> run = RunOnCore(Pynq(), instructions, machine->dram(), 100000);
  return run.ok() ? run->trap : std::nullopt;
}

// Every word that the decoder in C++ refuses is refused by the core, and no other: single bits, and random ones.
TEST(RtlDecode, RefusesWhatTheInstructionSetDoes) {
  std::mt19937_64 random(5);
  const std::string finish = isa::EncodeAll(std::vector<Instruction>{{.opcode = Opcode::kFinish}}).value();
  int refused = 0;
  for (int n = 0; n < 1500; ++n) {
    isa::EncodedInstruction word{};
    word[0] = static_cast<uint8_t>(n % 8);
    if (n < 8 * 128) {
      word[static_cast<size_t>(n / 8 / 8)] ^= static_cast<uint8_t>(1u << (n / 8 % 8));
    } else {
      for (int bits = 0; bits < 3; ++bits) {
        const uint64_t bit = random() % 128;
        word[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      }
    }
    const absl::StatusOr<Instruction> decoded = isa::Decode(word, 0);
    std::string program(reinterpret_cast<const char*>(word.data()), word.size());
    program += finish;
    const std::optional<Trap> trap = TrapOfBytes(program);
    const bool core_refuses = trap && trap->code == TrapCode::kDecode && trap->instruction == 0;
    EXPECT_EQ(core_refuses, !decoded.ok()) << decoded.status() << ", bit " << n / 8 << ", opcode " << n % 8;
    refused += core_refuses;
  }
  EXPECT_GT(refused, 300);
  EXPECT_LT(refused, 1400);
}

TEST(RtlDecode, FinishStandsAtTheEndAndNowhereElse) {
  const Instruction finish{.opcode = Opcode::kFinish}, load = Load(Memory::kInp, 0, 1, 1);
  const auto encoded = [](std::vector<Instruction> all) { return isa::EncodeAll(all).value(); };
  EXPECT_EQ(TrapOfBytes(encoded({finish})), std::nullopt);
  EXPECT_EQ(TrapOfBytes(encoded({load, load})), (Trap{TrapCode::kFinish, 1}));
  EXPECT_EQ(TrapOfBytes(encoded({load, finish, load, finish})), (Trap{TrapCode::kFinish, 1}));
  EXPECT_EQ(TrapOfBytes(""), (Trap{TrapCode::kFinish, 0}));
}

isa::Program Raw(const isa::Config& config, std::vector<Instruction> instructions) {
  return {.name = "raw", .config = config, .instructions = std::move(instructions)};
}

TEST(RtlDeadlock, IsFound) {
  // Compute waits for a token that load never gives.
  Comparison run =
      RunEverywhere(Raw(Pynq(), {Load(Memory::kInp, 0, 1, 1), {.opcode = Opcode::kFinish, .pop_prev = true}}));
  EXPECT_EQ(run.core.trap, (Trap{TrapCode::kDeadlock, 1}));
  EXPECT_EQ(run.report.end, sim::End::kDeadlock);
  // Fetch is held by a queue that does not move: seven loads where the queue has six.
  std::vector<Instruction> instructions(9, Load(Memory::kInp, 0, 1, 1));
  instructions[0].pop_next = true;
  instructions.push_back({.opcode = Opcode::kLoad, .push_prev = true, .memory = Memory::kAcc});
  instructions.push_back({.opcode = Opcode::kFinish});
  run = RunEverywhere(Raw(Tiny(), instructions));
  EXPECT_EQ(run.core.trap, (Trap{TrapCode::kDeadlock, 0}));
  // More tokens than the queue holds, and nobody pops them.
  instructions.assign(5, Load(Memory::kInp, 0, 1, 1));
  for (Instruction& load : instructions) load.push_next = true;
  instructions.push_back({.opcode = Opcode::kFinish});
  run = RunEverywhere(Raw(Tiny(), instructions));
  EXPECT_EQ(run.core.trap, (Trap{TrapCode::kDeadlock, 3}));
  EXPECT_EQ(run.report.end, sim::End::kDeadlock);
}

TEST(RtlTokens, LeftOverAreAnError) {
  Instruction load = Load(Memory::kInp, 0, 1, 1);
  load.push_next = true;
  const Comparison run = RunEverywhere(Raw(Pynq(), {load, {.opcode = Opcode::kFinish}}));
  ASSERT_TRUE(run.core.trap.has_value());
  EXPECT_EQ(run.core.trap->code, TrapCode::kTokens);
  EXPECT_EQ(run.report.end, sim::End::kLeftoverTokens);
}

// FINISH retires first, and the core goes on until the other units are done.
TEST(RtlTokens, UnitsThatNobodyWaitsForStillFinish) {
  std::vector<Instruction> instructions(8, Load(Memory::kWgt, 0, 1, 20));
  instructions.push_back({.opcode = Opcode::kFinish});
  const Comparison run = RunEverywhere(Raw(Pynq(), instructions));
  EXPECT_EQ(run.difference, "");
  EXPECT_EQ(run.core.retired.size(), 9u);
}

}  // namespace
}  // namespace smelt::vdla::rtl
