#include "tests/vdla/random_program.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "vdla/isa/accesses.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla {
namespace {

using isa::Instruction;
using isa::Memory;
using isa::MicroOp;
using isa::Opcode;
using isa::Unit;

// Bytes in DRAM.
constexpr uint64_t kUops = 0, kUopBytes = 65536, kData = 65536, kDataBytes = 262144, kOut = 524288, kOutBytes = 262144;

class Generator {
 public:
  Generator(const isa::Config& config, uint64_t seed) : config_(config), random_(seed) {
    for (const Memory memory : {Memory::kUop, Memory::kWgt, Memory::kInp, Memory::kAcc})
      depth_[static_cast<size_t>(memory)] = static_cast<uint32_t>(config.DepthOf(memory));
    depth_[static_cast<size_t>(Memory::kAcc8)] = Depth(Memory::kAcc);
    uops_.resize(Depth(Memory::kUop));  // zeros
    for (size_t n = 0; n < kUopBytes / 4; ++n) {
      // Few indices, so that accumulators meet each other again.
      stored_uops_.push_back(
          {Below(Depth(Memory::kAcc) / 2), Below(std::min(Depth(Memory::kInp), Depth(Memory::kAcc)) / 2), Below(Depth(Memory::kWgt) / 2)});
      if (Below(3) == 0) stored_uops_.back().dst = Below(4);
    }
  }

  isa::Program Make(int instructions) {
    isa::Program program{.name = "random", .config = config_};
    std::string uop_bytes, data(kDataBytes, '\0');
    for (const MicroOp& op : stored_uops_) {
      const uint32_t word = isa::EncodeMicroOp(op);
      for (int b = 0; b < 4; ++b) uop_bytes.push_back(static_cast<char>(word >> (8 * b)));
    }
    for (char& byte : data) byte = static_cast<char>(random_());
    program.segments = {{"uops", isa::Role::kConstant, kUops, kUopBytes, uop_bytes},
                        {"data", isa::Role::kInput, kData, kDataBytes, data},
                        {"out", isa::Role::kOutput, kOut, kOutBytes, ""}};
    Add(MoveOf(Opcode::kLoad, Memory::kUop));
    while (static_cast<int>(program_.size()) < instructions) Add(Next());
    // All tokens are popped, and FINISH waits for nobody: units finish by themselves.
    program_.push_back({.opcode = Opcode::kFinish});
    program.instructions = program_;
    return program;
  }

 private:
  uint32_t Below(uint32_t end) { return end == 0 ? 0 : static_cast<uint32_t>(random_() % end); }
  uint32_t Depth(Memory memory) const { return depth_[static_cast<size_t>(memory)]; }

  Instruction Next() {
    switch (Below(10)) {
      case 0:
        return MoveOf(Opcode::kLoad, Memory::kUop);
      case 1:
        return MoveOf(Opcode::kLoad, Memory::kWgt);
      case 2:
        return MoveOf(Opcode::kLoad, Memory::kInp);
      case 3:
        return MoveOf(Opcode::kLoad, Below(2) == 0 ? Memory::kAcc : Memory::kAcc8);
      case 4:
      case 5:
        return MoveOf(Opcode::kStore, Below(2) == 0 ? Memory::kAcc : Memory::kAcc8);
      case 6:
      case 7:
        return Nest(Opcode::kGemm);
      default:
        return Nest(Opcode::kAlu);
    }
  }

  // Rows that fit the memory and the segment, with padding where the instruction may have it.
  Instruction MoveOf(Opcode opcode, Memory memory) {
    const auto bytes = static_cast<uint32_t>(config_.DramElementBytes(memory));
    const bool pads = opcode == Opcode::kLoad && memory != Memory::kUop && Below(2) == 0;
    const uint64_t begin = opcode == Opcode::kStore ? kOut : memory == Memory::kUop ? kUops : kData;
    const uint64_t size = opcode == Opcode::kStore ? kOutBytes : memory == Memory::kUop ? kUopBytes : kDataBytes;
    const auto elements = static_cast<uint32_t>(size / bytes), first = static_cast<uint32_t>((begin + bytes - 1) / bytes);
    while (true) {
      Instruction i{.opcode = opcode, .memory = memory};
      i.y_size = Below(5);
      i.x_size = Below(memory == Memory::kUop ? 60 : 9);
      i.x_stride = Below(2) == 0 ? i.x_size : i.x_size + Below(20);
      if (pads) {
        for (uint32_t Instruction::*pad : {&Instruction::y_pad_before, &Instruction::y_pad_after, &Instruction::x_pad_before, &Instruction::x_pad_after})
          i.*pad = Below(2) == 0 ? 0 : Below(4);
        i.pad_value = static_cast<int32_t>(Below(256)) - 128;
      }
      const uint64_t in_sram = SramRowsOf(i) * SramRowElementsOf(i);
      const uint64_t in_dram = uint64_t{i.y_size} * (i.x_stride + i.x_size) + 1;
      if (in_sram > Depth(memory) || in_dram >= elements) continue;
      i.sram_base = Below(Depth(memory) - static_cast<uint32_t>(in_sram) + 1);
      i.dram_base = first + Below(elements - static_cast<uint32_t>(in_dram));
      return i;
    }
  }

  Instruction Nest(Opcode opcode) {
    while (true) {
      Instruction i{.opcode = opcode};
      if (opcode == Opcode::kGemm) {
        i.mode = static_cast<isa::GemmMode>(Below(isa::kGemmModes));
      } else {
        i.op = static_cast<isa::AluOp>(Below(isa::kAluOps));
        i.use_imm = Below(2) == 0;
        i.imm = i.use_imm ? static_cast<int32_t>(Below(65536)) - 32768 : 0;
        if (i.use_imm && Below(2) == 0) i.imm = static_cast<int32_t>(Below(80)) - 40;
      }
      i.uop_begin = Below(Depth(Memory::kUop) / 2);
      i.uop_count = Below(8);
      i.iter_out = Below(5);
      i.iter_in = Below(5);
      for (uint32_t Instruction::*factor : {&Instruction::dst_out, &Instruction::dst_in, &Instruction::src_out, &Instruction::src_in})
        i.*factor = Below(5);
      if (opcode == Opcode::kGemm) {
        i.wgt_out = Below(3);
        i.wgt_in = Below(3);
      }
      if (Fits(i)) return i;
    }
  }

  bool Fits(const Instruction& i) const {
    if (MicroOpsOf(i) == 0) return true;
    const bool gemm = i.opcode == Opcode::kGemm;
    for (uint32_t u = i.uop_begin; u < i.uop_begin + i.uop_count; ++u) {
      if (u >= uops_.size()) return false;
      const auto last = [&](uint32_t base, uint32_t out, uint32_t in) { return base + (i.iter_out - 1) * out + (i.iter_in - 1) * in; };
      if (last(uops_[u].dst, i.dst_out, i.dst_in) >= Depth(Memory::kAcc)) return false;
      if (last(uops_[u].src, i.src_out, i.src_in) >= Depth(gemm ? Memory::kInp : Memory::kAcc)) return false;
      if (gemm && last(uops_[u].wgt, i.wgt_out, i.wgt_in) >= Depth(Memory::kWgt)) return false;
    }
    return true;
  }

  // Adds it, with the tokens that it needs to come after what it conflicts with in the neighbouring units.
  void Add(Instruction i) {
    const bool nest = i.opcode == Opcode::kGemm || i.opcode == Opcode::kAlu;
    const absl::Span<const MicroOp> own =
        nest ? absl::MakeConstSpan(uops_).subspan(i.uop_begin, i.uop_count) : absl::Span<const MicroOp>();
    const isa::Accesses accesses = isa::AccessesOf(i, own, config_);
    const auto unit = static_cast<int>(UnitOf(i));
    for (int other : {unit - 1, unit + 1}) {
      if (other < 0 || other >= isa::kUnits) continue;
      int& ordered = ordered_[static_cast<size_t>(other)][static_cast<size_t>(unit)];
      for (int before = static_cast<int>(program_.size()) - 1; before > ordered; --before) {
        Instruction& earlier = program_[static_cast<size_t>(before)];
        if (static_cast<int>(UnitOf(earlier)) != other || !isa::Conflict(accesses_[static_cast<size_t>(before)], accesses)) continue;
        (other < unit ? earlier.push_next : earlier.push_prev) = true;
        (other < unit ? i.pop_prev : i.pop_next) = true;
        ordered = before;
        break;
      }
    }
    if (i.opcode == Opcode::kLoad && i.memory == Memory::kUop) {
      for (uint32_t row = 0; row < i.y_size; ++row) {
        for (uint32_t x = 0; x < i.x_size; ++x) uops_[i.sram_base + row * i.x_size + x] = stored_uops_[i.dram_base + row * i.x_stride + x];
      }
    }
    program_.push_back(i);
    accesses_.push_back(accesses);
  }

  const isa::Config config_;
  std::mt19937_64 random_;
  std::array<uint32_t, isa::kMemories> depth_{};
  std::vector<MicroOp> stored_uops_;  // in DRAM
  std::vector<MicroOp> uops_;         // in their memory, where the program stands
  std::vector<Instruction> program_;
  std::vector<isa::Accesses> accesses_;
  // [u][v]: the last instruction of unit u that a token has ordered before what unit v does from here on.
  std::array<std::array<int, isa::kUnits>, isa::kUnits> ordered_ = {{{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}}};
};

}  // namespace

isa::Program RandomProgram(const isa::Config& config, uint64_t seed, int instructions) {
  return Generator(config, seed).Make(instructions);
}

int64_t BreakOneIndex(isa::Program& program, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto count = static_cast<int64_t>(program.instructions.size());
  const auto start = static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  for (int64_t n = 0; n < count; ++n) {
    const int64_t number = (start + n) % count;
    Instruction& i = program.instructions[static_cast<size_t>(number)];
    if (i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore) {
      if (SramRowsOf(i) * SramRowElementsOf(i) == 0) continue;
      const bool in_dram = i.y_size * i.x_size != 0 && random() % 2 == 0;
      if (in_dram) {
        i.dram_base = static_cast<uint32_t>(program.config.dram_bytes / program.config.DramElementBytes(i.memory)) - i.x_size + 1;
      } else {
        // Its last element lies behind the last one.
        i.sram_base = static_cast<uint32_t>(program.config.DepthOf(i.memory)) + 1 - static_cast<uint32_t>(SramRowsOf(i) * SramRowElementsOf(i));
      }
      return number;
    }
    if (MicroOpsOf(i) == 0) continue;
    // A step of the outer loop takes all micro-ops out of the accumulators, or the micro-ops themselves lie behind the last one.
    if (i.iter_out > 1 && random() % 2 == 0) {
      i.dst_out = 4095;
    } else {
      i.uop_begin = static_cast<uint32_t>(program.config.DepthOf(Memory::kUop)) + 1 - i.uop_count;
    }
    return number;
  }
  return -1;
}

}  // namespace smelt::vdla
