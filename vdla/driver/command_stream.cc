#include "vdla/driver/command_stream.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/encoding.h"
#include "vdla/isa/token_replay.h"

namespace smelt::vdla::driver {
namespace {

using isa::Instruction;
using isa::Memory;
using isa::Opcode;
using isa::TokenQueue;
using isa::Unit;

bool QueueFrom(Unit from, Unit to, TokenQueue* queue) {
  for (int q = 0; q < isa::kTokenQueues; ++q) {
    *queue = static_cast<TokenQueue>(q);
    if (isa::PusherOf(*queue) == from && isa::PopperOf(*queue) == to) return true;
  }
  return false;
}

bool& PopFlag(Instruction& instruction, TokenQueue queue) {
  return isa::PusherOf(queue) < isa::PopperOf(queue) ? instruction.pop_prev : instruction.pop_next;
}
bool& PushFlag(Instruction& instruction, TokenQueue queue) {
  return isa::PusherOf(queue) < isa::PopperOf(queue) ? instruction.push_next : instruction.push_prev;
}

// Moves nothing and carries tokens.
Instruction NoOpOf(Unit unit) {
  constexpr Memory kMemoryOf[isa::kUnits] = {Memory::kInp, Memory::kUop, Memory::kAcc};
  return {.opcode = unit == Unit::kStore ? Opcode::kStore : Opcode::kLoad, .memory = kMemoryOf[static_cast<int>(unit)]};
}

absl::Status Outside(uint64_t number, const Instruction& instruction, std::string_view what, uint64_t last,
                     int64_t depth) {
  return absl::InvalidArgumentError(StrCat("instruction ", number, " (", isa::NameOf(instruction.opcode), "): ", what,
                                           " reaches element ", last, ", and the machine has ", depth,
                                           ": use smaller tiles or a lower base"));
}

}  // namespace

CommandStream::CommandStream(const isa::Config& machine)
    : machine_(machine), cache_(static_cast<uint64_t>(machine.DepthOf(Memory::kUop))) {
  Clear();
}

void CommandStream::Clear() {
  instructions_.clear();
  last_of_.fill(-1);
  pending_pops_.fill(0);
  on_the_way_.fill(0);
  cache_.Clear();
}

bool CommandStream::IsEmpty() const {
  return instructions_.empty() && std::ranges::all_of(pending_pops_, [](uint64_t pops) { return pops == 0; });
}

uint64_t CommandStream::NoOpsBefore(const Instruction& instruction) const {
  Instruction copy = instruction;
  uint64_t most = 0;
  for (int q = 0; q < isa::kTokenQueues; ++q) {
    const auto queue = static_cast<TokenQueue>(q);
    if (isa::PopperOf(queue) != isa::UnitOf(instruction)) continue;
    const uint64_t room = PopFlag(copy, queue) ? 0 : 1;
    most = std::max(most, pending_pops_[q] > room ? pending_pops_[q] - room : 0);
  }
  return most;
}

void CommandStream::Append(Instruction instruction) {
  const Unit unit = isa::UnitOf(instruction);
  for (uint64_t left = NoOpsBefore(instruction); left > 0; --left) {
    Instruction none = NoOpOf(unit);
    for (int q = 0; q < isa::kTokenQueues; ++q) {
      const auto queue = static_cast<TokenQueue>(q);
      if (isa::PopperOf(queue) != unit || pending_pops_[q] == 0) continue;
      PopFlag(none, queue) = true;
      --pending_pops_[q];
    }
    instructions_.push_back(none);
  }
  for (int q = 0; q < isa::kTokenQueues; ++q) {
    const auto queue = static_cast<TokenQueue>(q);
    if (isa::PopperOf(queue) == unit) {
      // A pop that Pop recorded is counted there.
      if (PopFlag(instruction, queue)) {
        --on_the_way_[q];
      } else if (pending_pops_[q] > 0) {
        PopFlag(instruction, queue) = true;
        --pending_pops_[q];
      }
    }
    if (isa::PusherOf(queue) == unit && PushFlag(instruction, queue)) ++on_the_way_[q];
  }
  last_of_[static_cast<int>(unit)] = static_cast<int64_t>(instructions_.size());
  instructions_.push_back(instruction);
}

bool CommandStream::HasPendingPop(Unit unit) const {
  for (int q = 0; q < isa::kTokenQueues; ++q) {
    if (isa::PopperOf(static_cast<TokenQueue>(q)) == unit && pending_pops_[q] > 0) return true;
  }
  return false;
}

void CommandStream::AppendNoOp(Unit unit) { Append(NoOpOf(unit)); }

absl::Status CommandStream::Move(const Instruction& instruction) {
  const uint64_t number = instructions_.size() + NoOpsBefore(instruction);
  SMELT_RETURN_IF_ERROR(isa::CheckInstruction(instruction, static_cast<int64_t>(number)));
  if (instruction.opcode != Opcode::kLoad && instruction.opcode != Opcode::kStore)
    return absl::InvalidArgumentError(StrCat("instruction ", number, " (", isa::NameOf(instruction.opcode),
                                             "): moves nothing; record it by the call of its own"));
  const uint64_t elements = isa::SramRowsOf(instruction) * isa::SramRowElementsOf(instruction);
  if (const int64_t depth = machine_.DepthOf(instruction.memory);
      elements > 0 && instruction.sram_base + elements > static_cast<uint64_t>(depth))
    return Outside(number, instruction, isa::NameOf(instruction.memory), instruction.sram_base + elements - 1, depth);
  Append(instruction);
  return absl::OkStatus();
}

absl::Status CommandStream::CheckIndices(const MicroOpKernel& kernel, const Instruction& instruction,
                                         uint64_t number) const {
  if (isa::MicroOpsOf(instruction) == 0) return absl::OkStatus();
  const bool gemm = instruction.opcode == Opcode::kGemm;
  const bool reads = gemm ? instruction.mode != isa::GemmMode::kReset : !instruction.use_imm;
  const struct {
    bool used;
    std::string_view what;
    uint64_t largest, out, in;
    Memory memory;
  } indices[] = {
      {true, "dst", kernel.largest.dst, instruction.dst_out, instruction.dst_in, Memory::kAcc},
      {reads, "src", kernel.largest.src, instruction.src_out, instruction.src_in, gemm ? Memory::kInp : Memory::kAcc},
      {reads && gemm, "wgt", kernel.largest.wgt, instruction.wgt_out, instruction.wgt_in, Memory::kWgt},
  };
  for (const auto& index : indices) {
    const uint64_t last =
        index.largest + uint64_t{instruction.iter_out - 1} * index.out + uint64_t{instruction.iter_in - 1} * index.in;
    if (const int64_t depth = machine_.DepthOf(index.memory); index.used && last >= static_cast<uint64_t>(depth))
      return Outside(number, instruction, StrCat(index.what, " of ", isa::NameOf(index.memory)), last, depth);
  }
  return absl::OkStatus();
}

absl::Status CommandStream::Compute(const MicroOpKernel& kernel, Instruction instruction, const Loops& loops,
                                    const Tokens& tokens) {
  const bool gemm = instruction.opcode == Opcode::kGemm;
  instruction.uop_count = kernel.count;
  instruction.iter_out = loops.iter_out;
  instruction.iter_in = loops.iter_in;
  instruction.dst_out = loops.dst_out;
  instruction.dst_in = loops.dst_in;
  instruction.src_out = loops.src_out;
  instruction.src_in = loops.src_in;
  instruction.wgt_out = loops.wgt_out;
  instruction.wgt_in = loops.wgt_in;
  instruction.pop_prev = tokens.pop_prev;
  instruction.pop_next = tokens.pop_next;
  instruction.push_prev = tokens.push_prev;
  instruction.push_next = tokens.push_next;
  const bool resident = cache_.IsResident(kernel.number);
  const uint64_t number = instructions_.size() + (resident ? 0 : 1) + NoOpsBefore(instruction);
  if (!gemm && (loops.wgt_out != 0 || loops.wgt_in != 0))
    return absl::InvalidArgumentError(StrCat("instruction ", number,
                                             " (ALU): steps of weights are set, which only a "
                                             "GEMM has: leave them 0"));
  SMELT_RETURN_IF_ERROR(isa::CheckInstruction(instruction, static_cast<int64_t>(number)));
  SMELT_RETURN_IF_ERROR(CheckIndices(kernel, instruction, number));
  const MicroOpCache::Place place = cache_.Use(kernel.number, kernel.count);
  if (!place.resident) {
    // Pops stay pending: the instruction waits for its operands, its micro-ops need not.
    instructions_.push_back({.opcode = Opcode::kLoad,
                             .memory = Memory::kUop,
                             .sram_base = place.begin,
                             .dram_base = static_cast<uint32_t>(kernel.dram_address / isa::kMicroOpBytes),
                             .y_size = 1,
                             .x_size = kernel.count,
                             .x_stride = kernel.count});
  }
  instruction.uop_begin = place.begin;
  Append(instruction);
  return absl::OkStatus();
}

absl::Status CommandStream::Gemm(const MicroOpKernel& kernel, isa::GemmMode mode, const Loops& loops,
                                 const Tokens& tokens) {
  return Compute(kernel, {.opcode = Opcode::kGemm, .mode = mode}, loops, tokens);
}

absl::Status CommandStream::Alu(const MicroOpKernel& kernel, isa::AluOp op, const Loops& loops, const Tokens& tokens) {
  return Compute(kernel, {.opcode = Opcode::kAlu, .op = op}, loops, tokens);
}

absl::Status CommandStream::AluImmediate(const MicroOpKernel& kernel, isa::AluOp op, int32_t immediate,
                                         const Loops& loops, const Tokens& tokens) {
  return Compute(kernel, {.opcode = Opcode::kAlu, .use_imm = true, .op = op, .imm = immediate}, loops, tokens);
}

absl::Status CommandStream::CheckNeighbours(Unit from, Unit to) const {
  TokenQueue queue;
  if (QueueFrom(from, to, &queue)) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("after instruction ", instructions_.size(), ": no tokens go from ",
                                           isa::NameOf(from), " to ", isa::NameOf(to),
                                           ": load and store meet through compute"));
}

absl::Status CommandStream::Push(Unit from, Unit to) {
  SMELT_RETURN_IF_ERROR(CheckNeighbours(from, to));
  TokenQueue queue;
  QueueFrom(from, to, &queue);
  // A pop that is pending for the unit comes before this push, and so before all that carries it.
  const int64_t& last = last_of_[static_cast<int>(from)];
  if (HasPendingPop(from) || last < 0 || PushFlag(instructions_[last], queue)) AppendNoOp(from);
  PushFlag(instructions_[last], queue) = true;
  ++on_the_way_[static_cast<int>(queue)];
  return absl::OkStatus();
}

absl::Status CommandStream::Pop(Unit from, Unit to) {
  SMELT_RETURN_IF_ERROR(CheckNeighbours(from, to));
  TokenQueue queue;
  QueueFrom(from, to, &queue);
  ++pending_pops_[static_cast<int>(queue)];
  --on_the_way_[static_cast<int>(queue)];
  return absl::OkStatus();
}

void CommandStream::Barrier() {
  // Tokens have no names, so one that is on its way when the barrier comes would be taken for the barrier's own: the
  // barrier pops all of them too, and pushes as many again.
  const auto meet = [this](Unit from, Unit to) {
    TokenQueue queue;
    QueueFrom(from, to, &queue);
    const int64_t before = std::max<int64_t>(on_the_way_[static_cast<int>(queue)], 0);
    for (int64_t i = 0; i < before + 1; ++i) static_cast<void>(Push(from, to));
    for (int64_t i = 0; i < before + 1; ++i) static_cast<void>(Pop(from, to));
  };
  // What was popped and has no instruction yet is waited for before the barrier.
  for (const Unit unit : isa::kAllUnits) AppendNoOp(unit);
  meet(Unit::kLoad, Unit::kCompute);
  meet(Unit::kStore, Unit::kCompute);
  AppendNoOp(Unit::kCompute);
  meet(Unit::kCompute, Unit::kLoad);
  meet(Unit::kCompute, Unit::kStore);
  AppendNoOp(Unit::kLoad);
  AppendNoOp(Unit::kStore);
}

absl::StatusOr<std::vector<Instruction>> CommandStream::Finish() {
  const bool balanced = std::ranges::all_of(on_the_way_, [](int64_t tokens) { return tokens == 0; });
  for (const Unit unit : {Unit::kLoad, Unit::kStore}) {
    if (HasPendingPop(unit)) AppendNoOp(unit);
    if (!balanced || last_of_[static_cast<int>(unit)] < 0) continue;
    // FINISH waits for the other units, so that a machine that says it is done has written its results. Where tokens
    // do not add up, these would only blur who is to blame.
    static_cast<void>(Push(unit, Unit::kCompute));
    static_cast<void>(Pop(unit, Unit::kCompute));
  }
  Append({.opcode = Opcode::kFinish});
  std::vector<Instruction> program = std::move(instructions_);
  Clear();
  SMELT_RETURN_IF_ERROR(isa::ReplayTokens(program, machine_));
  return program;
}

}  // namespace smelt::vdla::driver
