#include "vdla/lower/emit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ceil_div.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/encoding.h"
#include "vdla/lower/copies.h"
#include "vdla/lower/micro_ops.h"
#include "vdla/lower/storage.h"

namespace smelt::vdla::lower {
namespace {

using isa::Config;
using isa::Instruction;
using isa::Memory;
using isa::Opcode;
using isa::Unit;

constexpr int64_t kAlignment = 4096;  // bytes; every element of every machine divides it

// An instruction whose micro-ops have no place yet.
struct Pending {
  Instruction instruction;
  int list = -1;        // none
  uint32_t offset = 0;  // of its first micro-op in the list
};

// What the micro-ops of a nest depend on: the same operation at the same place, with the same counts.
using NestKey = std::vector<int64_t>;
struct KnownNest {
  Instruction instruction;
  int list = -1;
  uint32_t first = 0, size = 0;
};

Unit UnitOf(const Node& node) {
  const Copy* copy = std::get_if<Copy>(&node.what);
  if (copy == nullptr) return Unit::kCompute;
  if (copy->store) return Unit::kStore;
  return copy->memory == Memory::kInp || copy->memory == Memory::kWgt ? Unit::kLoad : Unit::kCompute;
}
bool IsLeaf(const Node& node) {
  return !std::holds_alternative<LoopNode>(node.what) && !std::holds_alternative<AllocateNode>(node.what);
}

class Walker {
 public:
  Walker(const Operations& operations, const Config& config, Storage storage, std::vector<int64_t> addresses)
      : operations_(operations),
        config_(config),
        storage_(std::move(storage)),
        addresses_(std::move(addresses)),
        values_(static_cast<size_t>(operations.variables)) {}

  absl::Status Walk(const std::vector<Node>& nodes) {
    for (size_t i = 0; i < nodes.size();) {
      if (!IsLeaf(nodes[i])) {
        if (Runs(nodes[i])) SMELT_RETURN_IF_ERROR(Descend(nodes[i]));
        ++i;
        continue;
      }
      size_t end = i + 1;
      while (end < nodes.size() && IsLeaf(nodes[end]) && UnitOf(nodes[end]) == UnitOf(nodes[i])) ++end;
      SMELT_RETURN_IF_ERROR(ForEachThread(0, absl::MakeConstSpan(nodes).subspan(i, end - i)));
      i = end;
    }
    return absl::OkStatus();
  }

  std::vector<Pending> pending_;
  MicroOpLists lists_;
  int64_t gemm_micro_ops_ = 0, alu_micro_ops_ = 0;

 private:
  absl::Status Descend(const Node& node) {
    if (const auto* allocate = std::get_if<AllocateNode>(&node.what)) return Walk(allocate->body);
    const auto& loop = std::get<LoopNode>(node.what);
    if (loop.virtual_threads) {
      threads_.push_back({loop.variable, loop.extent});
      values_[loop.variable] = 0;
      SMELT_RETURN_IF_ERROR(Walk(loop.body));
      threads_.pop_back();
      return absl::OkStatus();
    }
    for (int64_t i = 0; i < loop.extent; ++i) {
      values_[loop.variable] = i;
      SMELT_RETURN_IF_ERROR(Walk(loop.body));
    }
    return absl::OkStatus();
  }

  absl::Status ForEachThread(size_t depth, absl::Span<const Node> leaves) {
    if (depth < threads_.size()) {
      for (int64_t thread = 0; thread < threads_[depth].second; ++thread) {
        values_[threads_[depth].first] = thread;
        SMELT_RETURN_IF_ERROR(ForEachThread(depth + 1, leaves));
      }
      values_[threads_[depth].first] = 0;
      return absl::OkStatus();
    }
    for (const Node& leaf : leaves) {
      if (!Runs(leaf)) continue;
      if (const auto* copy = std::get_if<Copy>(&leaf.what)) SMELT_RETURN_IF_ERROR(Emit(*copy));
      if (const auto* gemm = std::get_if<Gemm>(&leaf.what)) SMELT_RETURN_IF_ERROR(Emit(*gemm));
      if (const auto* alu = std::get_if<Alu>(&leaf.what)) SMELT_RETURN_IF_ERROR(Emit(*alu));
    }
    return absl::OkStatus();
  }

  bool Runs(const Node& node) const {
    return std::all_of(node.when.begin(), node.when.end(),
                       [&](const Linear& condition) { return condition.At(values_) > 0; });
  }
  int64_t Remaining(int64_t extent, const std::optional<Linear>& remaining) const {
    return remaining.has_value() ? std::clamp<int64_t>(remaining->At(values_), 0, extent) : extent;
  }
  // The first element of this thread's copy of the buffer, of this iteration's turn.
  int64_t BaseOf(SramBuffer buffer) const {
    const auto index = static_cast<size_t>(buffer);
    int64_t base = storage_.base[index];
    if (const SramDeclaration& declared = operations_[buffer]; declared.turns.has_value())
      base += values_[declared.turns->variable] % declared.turns->copies * declared.elements;
    for (const auto& [variable, elements] : storage_.threads[index]) base += values_[variable] * elements;
    return base;
  }

  absl::Status Emit(const Copy& copy) {
    CopyBox box{.store = copy.store,
                .memory = copy.memory,
                .sram = copy.sram_index.At(values_),
                .dram = copy.dram_index.At(values_),
                .dims = {},
                .pad_value = copy.pad_value};
    int64_t sram_last = box.sram, dram_first = 0, dram_last = 0;
    bool empty = false;
    for (const CopyDim& dim : copy.dims) {
      const int64_t count = Remaining(dim.extent, dim.remaining);
      CopyBox::Dim part{
          .before = 0, .size = count, .after = 0, .sram_stride = dim.sram_stride, .dram_stride = dim.dram_stride};
      if (dim.bounds.has_value()) {
        const int64_t origin = dim.bounds->origin.At(values_), step = dim.bounds->step;
        const auto steps_to = [&](int64_t position) {
          return std::clamp<int64_t>((position - origin + step - 1) / step, 0, count);
        };
        part.before = origin >= 0 ? 0 : steps_to(0);
        const int64_t end = origin >= dim.bounds->limit ? 0 : steps_to(dim.bounds->limit);
        part.size = std::max<int64_t>(0, end - part.before);
        if (part.size == 0) part.before = 0;
        part.after = count - part.before - part.size;
        box.dram += part.before * dim.dram_stride;
        if (copy.store) {
          box.sram += part.before * dim.sram_stride;
          part.before = part.after = 0;
        }
      }
      const int64_t total = part.before + part.size + part.after;
      empty |= total == 0;
      sram_last += (total - 1) * dim.sram_stride;
      (dim.dram_stride < 0 ? dram_first : dram_last) += std::max<int64_t>(0, part.size - 1) * dim.dram_stride;
      empty |= copy.store && part.size == 0;
      box.dims.push_back(part);
    }
    if (empty) return absl::OkStatus();
    const SramDeclaration& sram = operations_[copy.sram];
    const DramDeclaration& dram = operations_[copy.dram];
    const bool only_padding =
        std::any_of(box.dims.begin(), box.dims.end(), [](const auto& dim) { return dim.size == 0; });
    if (box.sram < 0 || sram_last >= sram.elements)
      return absl::InvalidArgumentError(StrCat("a copy of `", dram.name, "` touches elements ", box.sram, " to ",
                                               sram_last, " of `", sram.name, "`, which has ", sram.elements));
    const int64_t element = config_.DramElementBytes(copy.memory);
    const int64_t elements = dram.elements * config_.DramElementBytes(dram.memory) / element;
    if (!only_padding && (box.dram + dram_first < 0 || box.dram + dram_last >= elements))
      return absl::InvalidArgumentError(StrCat("a copy to or from `", sram.name, "` touches elements ",
                                               box.dram + dram_first, " to ", box.dram + dram_last, " of `", dram.name,
                                               "`, which has ", elements));
    box.sram += BaseOf(copy.sram);
    box.dram += addresses_[static_cast<size_t>(copy.dram)] / element;
    std::vector<Instruction> instructions;
    SMELT_RETURN_IF_ERROR(AppendCopies(box, &instructions));
    for (const Instruction& instruction : instructions) pending_.push_back({.instruction = instruction});
    return absl::OkStatus();
  }

  // The nest at the current values. The last element of each index is checked against its buffer.
  struct IndexedBuffer {
    SramBuffer buffer;
    const Linear* index;
    int64_t WorkNest::*base;
    int64_t WorkNest::Dim::*stride;
  };
  absl::StatusOr<WorkNest> NestOf(const std::vector<WorkDim>& dims, const std::vector<IndexedBuffer>& operands) const {
    WorkNest nest;
    for (const WorkDim& dim : dims)
      nest.dims.push_back(
          {.count = Remaining(dim.extent, dim.remaining), .dst = dim.dst, .src = dim.src, .wgt = dim.wgt});
    for (const IndexedBuffer& operand : operands) {
      int64_t first = operand.index->At(values_), last = first;
      for (const WorkNest::Dim& dim : nest.dims) {
        const int64_t way = (dim.count - 1) * dim.*operand.stride;
        (way < 0 ? first : last) += way;
      }
      const SramDeclaration& buffer = operations_[operand.buffer];
      if (first < 0 || last >= buffer.elements) {
        if (std::any_of(nest.dims.begin(), nest.dims.end(), [](const auto& dim) { return dim.count == 0; })) continue;
        return absl::InvalidArgumentError(StrCat("work touches elements ", first, " to ", last, " of `", buffer.name,
                                                 "`, which has ", buffer.elements));
      }
      nest.*operand.base = operand.index->At(values_) + BaseOf(operand.buffer);
    }
    return nest;
  }

  template <typename Combine>
  absl::StatusOr<KnownNest> Known(const void* operation, const WorkNest& nest, Combine combine) {
    NestKey key = {static_cast<int64_t>(reinterpret_cast<intptr_t>(operation)), nest.dst, nest.src, nest.wgt};
    for (const WorkNest::Dim& dim : nest.dims) key.push_back(dim.count);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    SMELT_ASSIGN_OR_RETURN(FoldedNest folded, combine(nest));
    KnownNest result{.instruction = folded.instruction,
                     .first = folded.first,
                     .size = static_cast<uint32_t>(folded.micro_ops.size())};
    if (result.size > 0) result.list = lists_.Add(std::move(folded.micro_ops));
    known_.emplace(std::move(key), result);
    return result;
  }

  absl::Status Emit(const Gemm& gemm) {
    std::vector<IndexedBuffer> operands = {{gemm.dst, &gemm.dst_index, &WorkNest::dst, &WorkNest::Dim::dst}};
    if (gemm.start != Gemm::Start::kZero) {
      operands.push_back({gemm.src, &gemm.src_index, &WorkNest::src, &WorkNest::Dim::src});
      operands.push_back({gemm.wgt, &gemm.wgt_index, &WorkNest::wgt, &WorkNest::Dim::wgt});
    }
    SMELT_ASSIGN_OR_RETURN(WorkNest nest, NestOf(gemm.dims, operands));
    for (WorkNest::Dim& dim : nest.dims) {
      if (gemm.start == Gemm::Start::kZero) dim.src = dim.wgt = 0;  // a reset reads nothing
    }
    SMELT_ASSIGN_OR_RETURN(const KnownNest known,
                           Known(&gemm, nest, [&](const WorkNest& of) { return FoldGemm(of, config_); }));
    if (known.size == 0) return absl::OkStatus();
    const bool first =
        std::all_of(gemm.first.begin(), gemm.first.end(), [&](Variable variable) { return values_[variable] == 0; });
    Instruction instruction = known.instruction;
    instruction.opcode = Opcode::kGemm;
    uint32_t done = 0;
    if (gemm.start == Gemm::Start::kZero || (gemm.start == Gemm::Start::kFirst && first)) {
      instruction.mode = gemm.start == Gemm::Start::kZero ? isa::GemmMode::kReset : isa::GemmMode::kOverwrite;
      instruction.uop_count = known.first;
      gemm_micro_ops_ += static_cast<int64_t>(isa::MicroOpsOf(instruction));
      pending_.push_back({instruction, known.list, 0});
      done = known.first;
    }
    if (gemm.start == Gemm::Start::kZero || done == known.size) return absl::OkStatus();
    instruction.mode = isa::GemmMode::kAccumulate;
    instruction.uop_count = known.size - done;
    gemm_micro_ops_ += static_cast<int64_t>(isa::MicroOpsOf(instruction));
    pending_.push_back({instruction, known.list, done});
    return absl::OkStatus();
  }

  absl::Status Emit(const Alu& alu) {
    std::vector<IndexedBuffer> operands = {{alu.dst, &alu.dst_index, &WorkNest::dst, &WorkNest::Dim::dst}};
    if (alu.src.has_value()) operands.push_back({*alu.src, &alu.src_index, &WorkNest::src, &WorkNest::Dim::src});
    SMELT_ASSIGN_OR_RETURN(WorkNest nest, NestOf(alu.dims, operands));
    bool any_order = !alu.src.has_value() || *alu.src != alu.dst;
    for (WorkNest::Dim& dim : nest.dims) {
      any_order &= dim.dst != 0 || dim.count == 1;
      if (!alu.src.has_value()) dim.src = 0;
      dim.wgt = 0;
    }
    SMELT_ASSIGN_OR_RETURN(const KnownNest known,
                           Known(&alu, nest, [&](const WorkNest& of) { return FoldAlu(of, any_order, config_); }));
    if (known.size == 0) return absl::OkStatus();
    Instruction instruction = known.instruction;
    instruction.opcode = Opcode::kAlu;
    instruction.op = alu.op;
    instruction.use_imm = !alu.src.has_value();
    instruction.imm = instruction.use_imm ? alu.imm : 0;
    instruction.uop_count = known.size;
    alu_micro_ops_ += static_cast<int64_t>(isa::MicroOpsOf(instruction));
    pending_.push_back({instruction, known.list, 0});
    return absl::OkStatus();
  }

  const Operations& operations_;
  const Config& config_;
  const Storage storage_;
  const std::vector<int64_t> addresses_;  // by DRAM buffer, bytes
  std::vector<int64_t> values_;           // by variable
  std::vector<std::pair<Variable, int64_t>> threads_;
  absl::flat_hash_map<NestKey, KnownNest> known_;
};

int64_t RoundUp(int64_t bytes) { return CeilDiv(bytes, kAlignment) * kAlignment; }

std::string BytesOf(const std::vector<isa::MicroOp>& image) {
  std::string bytes;
  for (const isa::MicroOp& micro_op : image) {
    const uint32_t word = isa::EncodeMicroOp(micro_op);
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(word >> 8 * i & 255));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<Emitted> Emit(const Operations& operations, const Config& config) {
  SMELT_ASSIGN_OR_RETURN(Storage storage, PlanStorage(operations, config));
  Emitted emitted{.program = {.name = operations.name, .config = config, .instructions = {}, .segments = {}},
                  .image = {}};
  std::vector<int64_t> addresses;
  int64_t address = kAlignment;
  for (const DramDeclaration& buffer : operations.dram) {
    const int64_t bytes = buffer.elements * config.DramElementBytes(buffer.memory);
    emitted.program.segments.push_back({.name = buffer.name,
                                        .role = buffer.role,
                                        .address = static_cast<uint64_t>(address),
                                        .size = static_cast<uint64_t>(bytes),
                                        .bytes = buffer.bytes});
    addresses.push_back(address);
    address = RoundUp(address + bytes);
  }
  Walker walker(operations, config, std::move(storage), std::move(addresses));
  SMELT_RETURN_IF_ERROR(walker.Walk(operations.body));

  emitted.image = {.dram_base = static_cast<uint64_t>(address / isa::kMicroOpBytes),
                   .micro_ops = walker.lists_.image()};
  if (!emitted.image.micro_ops.empty()) {
    emitted.program.segments.push_back({.name = "micro_ops",
                                        .role = isa::Role::kConstant,
                                        .address = static_cast<uint64_t>(address),
                                        .size = emitted.image.micro_ops.size() * isa::kMicroOpBytes,
                                        .bytes = BytesOf(emitted.image.micro_ops)});
    address += static_cast<int64_t>(emitted.program.segments.back().size);
  }
  if (address > config.dram_bytes)
    return absl::ResourceExhaustedError(StrCat("the program's buffers take ", address, " bytes of DRAM, and ",
                                               config.name, " has ", config.dram_bytes));

  MicroOpMemory memory(walker.lists_, static_cast<int64_t>(emitted.image.dram_base), config);
  std::vector<Instruction> instructions;
  for (Pending& pending : walker.pending_) {
    if (pending.list >= 0) {
      SMELT_ASSIGN_OR_RETURN(const int64_t begin, memory.Need(pending.list, &instructions));
      pending.instruction.uop_begin = static_cast<uint32_t>(begin) + pending.offset;
    }
    instructions.push_back(pending.instruction);
  }
  instructions.push_back({.opcode = Opcode::kFinish});
  for (const Instruction& i : instructions) {
    if (i.opcode == Opcode::kLoad || i.opcode == Opcode::kStore)
      emitted.dram_bytes += int64_t{i.y_size} * i.x_size * config.DramElementBytes(i.memory);
  }
  emitted.gemm_micro_ops = walker.gemm_micro_ops_;
  emitted.alu_micro_ops = walker.alu_micro_ops_;
  SMELT_ASSIGN_OR_RETURN(TokenProgram tokens, InsertTokens(instructions, emitted.image, config));
  for (const int64_t count : tokens.tokens) emitted.tokens += count;
  emitted.program.instructions = std::move(tokens.instructions);
  return emitted;
}

}  // namespace smelt::vdla::lower
