// Random programs of VDLA without races: wherever an instruction touches what an earlier one of another unit touched,
// and no token orders the two yet, a pair of tokens is put between them. What each timing of the simulator leaves in
// DRAM must then be equal.
//
//   RandomProgram random = MakeRandomProgram(/*seed=*/7);
//   // random.required: pairs of tokens without which there is a race
//   const vdla::isa::Config pynq = vdla::isa::Config::Named("pynq").value();
//   RandomProgram given = MakeRandomProgram(/*seed=*/7, &pynq);   // for this machine; else for one at random
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/str_cat.h"
#include "vdla/isa/accesses.h"
#include "vdla/isa/encoding.h"
#include "vdla/isa/program.h"

namespace smelt::bench {

// The instructions, by number, of which one pushes a token and the other pops it.
struct TokenPair {
  int64_t push = 0, pop = 0;
};
struct RandomProgram {
  vdla::isa::Program program;
  std::vector<TokenPair> required;
};

class RandomProgramWriter {
 public:
  RandomProgramWriter(uint64_t seed, const vdla::isa::Config* machine) : random_(seed) {
    if (machine != nullptr) {
      result_.program.config = *machine;
    } else {
      MakeMachine();
    }
    result_.program.name = StrCat("random-", seed);
    // A third of DRAM for micro-ops, data and what is stored each; stores overlap the data now and then.
    std::string uops, data;
    for (int u = 0; u < 1024; ++u) {
      const uint32_t word = vdla::isa::EncodeMicroOp({Up(kElements), Up(kElements), Up(kWeights)});
      for (int b = 0; b < 4; ++b) uops.push_back(static_cast<char>(word >> (8 * b)));
    }
    for (int b = 0; b < 16384; ++b) data.push_back(static_cast<char>(random_()));
    result_.program.segments = {{"uops", vdla::isa::Role::kConstant, 0, 4096, uops},
                                {"data", vdla::isa::Role::kScratch, 4096, kDram - 4096, data}};
    uops_.resize(static_cast<size_t>(config().DepthOf(vdla::isa::Memory::kUop)));
  }

  RandomProgram Write() {
    const int64_t count = 4 + Up(36);
    for (int64_t i = 0; i < count; ++i) Add(RandomInstruction());
    Emit({.opcode = vdla::isa::Opcode::kFinish});
    return std::move(result_);
  }

 private:
  using Instruction = vdla::isa::Instruction;
  using Memory = vdla::isa::Memory;
  using Unit = vdla::isa::Unit;
  using Clock = std::array<int64_t, vdla::isa::kUnits>;
  static constexpr uint32_t kElements = 40, kWeights = 12;
  static constexpr uint64_t kDram = 65536;

  // What has been written for a unit: the number of an instruction, its place in the unit, what it touches.
  struct Written {
    int64_t number, epoch;
    vdla::isa::Accesses accesses;
  };

  const vdla::isa::Config& config() const { return result_.program.config; }
  uint32_t Up(uint64_t most) { return static_cast<uint32_t>(random_() % most); }
  bool Chance(uint64_t one_in) { return random_() % one_in == 0; }
  static size_t Index(Unit unit) { return static_cast<size_t>(unit); }

  void MakeMachine() {
    vdla::isa::Config& config = result_.program.config;
    config = vdla::isa::Config::Named("pynq").value();
    config.name = "random";
    constexpr int64_t kBlocks[] = {16, 16, 8, 5, 1};
    config.batch = 1 + Up(2);
    config.block_in = kBlocks[Up(5)];
    config.block_out = kBlocks[Up(5)];
    config.dram_bytes = static_cast<int64_t>(kDram);
    config.inp_bytes = 256 * config.DramElementBytes(Memory::kInp);
    config.wgt_bytes = 64 * config.DramElementBytes(Memory::kWgt);
    config.acc_bytes = 256 * config.DramElementBytes(Memory::kAcc);
    config.uop_bytes = 4096;
    config.command_queue_depth = 1 + Up(8);
    vdla::isa::Timing& timing = config.timing;
    timing.dram_bytes_per_cycle = 0.5 + 0.1 * Up(200);
    timing.dram_latency = Up(100);
    timing.burst_bytes = 1 + Up(256);
    timing.outstanding_requests = 1 + Up(8);
    timing.row_cycles = Up(4);
    timing.gemm_raw_distance = 1 + Up(5);
    timing.fetch_instructions = 1 + Up(16);
    timing.fetch_cycles = Up(3);
    timing.token_cycles = Up(3);
    timing.sram_ports = 1 + Up(2);
    timing.dram_bytes_per_cycle =
        static_cast<double>(static_cast<int64_t>(timing.dram_bytes_per_cycle * 1000 + 0.5)) / 1000;
  }

  Instruction RandomMove(Memory memory, bool store) {
    const auto element = static_cast<uint64_t>(config().DramElementBytes(memory));
    Instruction i{.opcode = store ? vdla::isa::Opcode::kStore : vdla::isa::Opcode::kLoad,
                  .memory = memory,
                  .sram_base = Up(memory == Memory::kWgt ? kWeights : kElements)};
    i.y_size = Up(4);
    i.x_size = Up(6);
    i.x_stride = Chance(3) ? i.x_size : Up(10);
    if (memory == Memory::kUop) {
      i.sram_base = Up(64);
      i.x_size = Up(64);
      i.x_stride = Up(64);
      i.dram_base = Up(1024 - 4 * 64);
      return i;
    }
    // Loads mostly of the first half, stores mostly into the second.
    const uint64_t begin = store != Chance(6) ? kDram / 2 : 4096, end = begin + kDram / 4;
    i.dram_base = static_cast<uint32_t>((begin + random_() % (end - begin)) / element) + 1;
    if (store) return i;
    if (Chance(2)) {
      i.y_pad_before = Up(3);
      i.y_pad_after = Up(3);
      i.x_pad_before = Chance(4) ? Up(16) : Up(3);
      i.x_pad_after = Up(3);
      i.pad_value = static_cast<int32_t>(Up(256)) - 128;
    }
    if (memory == Memory::kWgt && SramRowsOf(i) * SramRowElementsOf(i) + i.sram_base > 64)
      i.y_size = i.y_pad_before = i.y_pad_after = 0;
    if (SramRowsOf(i) * SramRowElementsOf(i) + i.sram_base > 256) i.y_size = i.y_pad_before = i.y_pad_after = 0;
    return i;
  }

  Instruction RandomNest(bool gemm) {
    Instruction i{.opcode = gemm ? vdla::isa::Opcode::kGemm : vdla::isa::Opcode::kAlu};
    i.uop_begin = Up(64);
    i.uop_count = Up(10);
    i.iter_out = Up(4);
    i.iter_in = Up(4);
    i.dst_out = Up(20);
    i.dst_in = Up(20);
    i.src_out = Up(20);
    i.src_in = Up(20);
    if (gemm) {
      i.mode = static_cast<vdla::isa::GemmMode>(Chance(2) ? 0 : Up(vdla::isa::kGemmModes));
      i.wgt_out = Up(5);
      i.wgt_in = Up(5);
    } else {
      i.use_imm = Chance(2);
      i.op = static_cast<vdla::isa::AluOp>(Up(vdla::isa::kAluOps));
      i.imm = static_cast<int32_t>(Up(1 << 16)) - (1 << 15);
      if (Chance(2)) i.imm = static_cast<int32_t>(Up(80)) - 40;
    }
    return i;
  }

  Instruction RandomInstruction() {
    switch (Up(10)) {
      case 0:
      case 1:
        return RandomMove(Memory::kInp, false);
      case 2:
        return RandomMove(Memory::kWgt, false);
      case 3:
        return RandomMove(Memory::kUop, false);
      case 4:
        return RandomMove(Chance(2) ? Memory::kAcc : Memory::kAcc8, false);
      case 5:
      case 6:
        return RandomMove(Chance(2) ? Memory::kAcc : Memory::kAcc8, true);
      case 7:
        return RandomNest(false);
      default:
        return RandomNest(true);
    }
  }

  int64_t Emit(const Instruction& instruction) {
    const auto number = static_cast<int64_t>(result_.program.instructions.size());
    result_.program.instructions.push_back(instruction);
    const Unit unit = UnitOf(instruction);
    const int64_t epoch = ++clocks_[Index(unit)][Index(unit)];
    const vdla::isa::Accesses accesses = AccessesOf(instruction, MicroOpsOf(instruction), config());
    written_[Index(unit)].push_back({number, epoch, accesses});
    if (instruction.opcode == vdla::isa::Opcode::kLoad && instruction.memory == Memory::kUop) LoadMicroOps(instruction);
    return number;
  }

  void LoadMicroOps(const Instruction& i) {
    const std::string& bytes = result_.program.segments[0].bytes;
    for (uint32_t row = 0; row < i.y_size; ++row) {
      for (uint32_t x = 0; x < i.x_size; ++x) {
        uint32_t word = 0;
        for (size_t b = 4; b-- > 0;)
          word = word << 8 | static_cast<uint8_t>(bytes[(i.dram_base + row * i.x_stride + x) * size_t{4} + b]);
        uops_[i.sram_base + row * i.x_size + x] = vdla::isa::DecodeMicroOp(word);
      }
    }
  }
  absl::Span<const vdla::isa::MicroOp> MicroOpsOf(const Instruction& i) const {
    return absl::MakeSpan(uops_).subspan(i.uop_begin, i.uop_count);
  }

  // Writes the instruction after the tokens that it needs.
  void Add(Instruction instruction) {
    const Unit unit = UnitOf(instruction);
    const vdla::isa::Accesses accesses = AccessesOf(instruction, MicroOpsOf(instruction), config());
    for (const Unit other : vdla::isa::kAllUnits) {
      if (other == unit) continue;
      bool conflict = Chance(25);  // also a token that nothing needs
      const bool needless = conflict;
      for (const Written& before : written_[Index(other)]) {
        if (before.epoch <= clocks_[Index(unit)][Index(other)] || !Conflict(before.accesses, accesses)) continue;
        conflict = true;
        break;
      }
      if (conflict && !written_[Index(other)].empty()) Order(other, unit, &instruction, needless);
    }
    const int64_t number = Emit(instruction);
    for (const int64_t open : open_pops_) result_.required[static_cast<size_t>(open)].pop = number;
    open_pops_.clear();
  }

  // A token from the last instruction of `from` to the one that comes next in `to`, over compute where they are no
  // neighbours.
  void Order(Unit from, Unit to, Instruction* instruction, bool needless) {
    if (from != Unit::kCompute && to != Unit::kCompute) {
      Instruction between{.opcode = vdla::isa::Opcode::kLoad, .memory = Memory::kUop};
      Push(from, Unit::kCompute);
      (from == Unit::kLoad ? between.pop_prev : between.pop_next) = true;
      Join(Unit::kCompute, push_clock_);
      Emit(between);
      needless = true;  // compute may know of it already
      from = Unit::kCompute;
    }
    bool& flag = Index(from) < Index(to) ? instruction->pop_prev : instruction->pop_next;
    if (flag) {  // the instruction pops one already: another one before it takes this
      Instruction before{.opcode = to == Unit::kStore ? vdla::isa::Opcode::kStore : vdla::isa::Opcode::kLoad,
                         .memory = to == Unit::kLoad    ? Memory::kInp
                                   : to == Unit::kStore ? Memory::kAcc
                                                        : Memory::kUop};
      (Index(from) < Index(to) ? before.pop_prev : before.pop_next) = true;
      Push(from, to);
      Join(to, push_clock_);
      Emit(before);
      // Tokens are taken in order, so that the instruction takes the later one now: what it took stands in for the
      // earlier.
      while (!open_pops_.empty()) {
        result_.required.pop_back();
        open_pops_.pop_back();
      }
      return;
    }
    flag = true;
    const int64_t push = Push(from, to);
    Join(to, push_clock_);
    if (!needless) {
      open_pops_.push_back(static_cast<int64_t>(result_.required.size()));
      result_.required.push_back({push, -1});
    }
  }

  // Lets the last instruction of `from` push, or one without work where it pushes there already.
  int64_t Push(Unit from, Unit to) {
    const bool next = Index(from) < Index(to);
    Instruction* last = &result_.program.instructions[static_cast<size_t>(written_[Index(from)].back().number)];
    if (next ? last->push_next : last->push_prev) {
      Emit({.opcode = from == Unit::kStore ? vdla::isa::Opcode::kStore : vdla::isa::Opcode::kLoad,
            .memory = from == Unit::kLoad    ? Memory::kInp
                      : from == Unit::kStore ? Memory::kAcc
                                             : Memory::kUop});
      last = &result_.program.instructions.back();
    }
    (next ? last->push_next : last->push_prev) = true;
    push_clock_ = clocks_[Index(from)];
    return written_[Index(from)].back().number;
  }

  void Join(Unit unit, const Clock& clock) {
    for (size_t u = 0; u < clock.size(); ++u) clocks_[Index(unit)][u] = std::max(clocks_[Index(unit)][u], clock[u]);
  }

  std::mt19937_64 random_;
  RandomProgram result_;
  std::vector<vdla::isa::MicroOp> uops_;
  std::array<std::vector<Written>, vdla::isa::kUnits> written_;
  std::array<Clock, vdla::isa::kUnits> clocks_{};
  Clock push_clock_{};
  std::vector<int64_t> open_pops_;
};

// A machine that is given has 256 or more inputs and accumulators, 64 weights, 1024 micro-ops and 64 KiB of DRAM, and
// must outlive the call.
inline RandomProgram MakeRandomProgram(uint64_t seed, const vdla::isa::Config* machine = nullptr) {
  return RandomProgramWriter(seed, machine).Write();
}

}  // namespace smelt::bench
