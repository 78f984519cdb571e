#include "vdla/lower/nest.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/te/intrinsic.h"
#include "kernels/te/simplify/linear.h"
#include "vdla/lower/intrinsics.h"
#include "vdla/lower/memories.h"

namespace smelt::vdla::lower {
namespace {

using isa::AluOp;
using isa::Memory;
using te::BinaryOp;
using te::Expr;
using te::ExprKind;
using te::PrimitiveType;

// An index, or the left side of `... > 0`: a linear function of the variables around, and a stride for each loop.
struct NestIndex {
  Linear outer;
  std::vector<int64_t> strides;
};

// A loop while operations are made of it; strides by operand.
struct NestDim {
  int64_t extent = 1;
  std::optional<Linear> remaining;
  std::optional<CopyDim::Bounds> bounds;
  std::vector<int64_t> strides;
};

struct AluTerm {
  AluOp op;
  const te::ExprNode* load = nullptr;  // null: imm
  int64_t imm = 0;
};

const struct {
  BinaryOp binary;
  AluOp op;
  bool commutes;
} kAluOps[] = {
    {BinaryOp::kAdd, AluOp::kAdd, true},        {BinaryOp::kSub, AluOp::kSub, false},
    {BinaryOp::kMul, AluOp::kMul, true},        {BinaryOp::kMin, AluOp::kMin, true},
    {BinaryOp::kMax, AluOp::kMax, true},        {BinaryOp::kShiftRightArithmetic, AluOp::kShr, false},
    {BinaryOp::kShiftLeft, AluOp::kShl, false},
};

bool IsBinary(const Expr& e, BinaryOp op) { return e->kind == ExprKind::kBinary && e->binary() == op; }
bool IsLoadOf(const Expr& e, Memory memory) {
  return e->kind == ExprKind::kLoad && !e->predicate && MemoryOf(e->buffer->scope) == memory;
}
// int8 of a memory, widened.
const te::ExprNode* WidenedLoad(const Expr& e, Memory memory) {
  if (e->kind != ExprKind::kCast || e->type.element != PrimitiveType::kS32) return nullptr;
  const Expr& load = e->operands[0];
  return IsLoadOf(load, memory) && load.type().element == PrimitiveType::kS8 ? load.get() : nullptr;
}

// Sums terms of one variable.
Linear Collected(const Linear& linear) {
  std::map<Variable, int64_t> terms;
  for (const auto& [variable, coefficient] : linear.terms) terms[variable] += coefficient;
  Linear result(linear.constant);
  for (const auto& [variable, coefficient] : terms) {
    if (coefficient != 0) result.terms.push_back({variable, coefficient});
  }
  return result;
}

class Recogniser {
 public:
  Recogniser(const LoopNest& nest, const NestScope& scope) : nest_(nest), scope_(scope), config_(*scope.config) {}

  absl::StatusOr<std::vector<Node>> Run() {
    for (const NestLoop& loop : nest_.loops) dims_.push_back({.extent = loop.extent});
    for (const Expr& guard : nest_.guards) SMELT_RETURN_IF_ERROR(ApplyGuard(guard));
    const std::optional<Memory> memory = nest_.call ? std::nullopt : MemoryOf(nest_.buffer->scope);
    absl::Status status;
    if (nest_.call) {
      status = AppendCall();
    } else if (!memory.has_value()) {
      status = StoreToDram();
    } else if (*memory == Memory::kAcc) {
      status = ToAccumulators();
    } else {
      status = Load(*memory, nest_.value);
    }
    if (!status.ok()) return status;
    for (Node& node : nodes_) node.when.insert(node.when.end(), when_.begin(), when_.end());
    return std::move(nodes_);
  }

  // `e` > 0 for a conjunction of comparisons.
  absl::Status Conditions(const Expr& e, std::vector<NestIndex>& conditions) const {
    if (int64_t value; te::IsConstInt(e, &value)) {
      if (value == 0) conditions.push_back({Linear(0), std::vector<int64_t>(nest_.loops.size())});
      return absl::OkStatus();
    }
    if (IsBinary(e, BinaryOp::kAnd)) {
      SMELT_RETURN_IF_ERROR(Conditions(e->operands[0], conditions));
      return Conditions(e->operands[1], conditions);
    }
    if (e->kind != ExprKind::kCompare) return Refuse(StrCat("the condition ", te::ToString(e), " is no comparison"));
    SMELT_ASSIGN_OR_RETURN(const NestIndex left, LinearOf(e->operands[0]));
    SMELT_ASSIGN_OR_RETURN(const NestIndex right, LinearOf(e->operands[1]));
    const auto difference = [](const NestIndex& a, const NestIndex& b, int64_t more) {
      NestIndex result{a.outer - b.outer + more, a.strides};
      for (size_t i = 0; i < b.strides.size(); ++i) result.strides[i] -= b.strides[i];
      return result;
    };
    switch (e->compare()) {
      case te::CompareOp::kLt:
        conditions.push_back(difference(right, left, 0));
        return absl::OkStatus();
      case te::CompareOp::kLe:
        conditions.push_back(difference(right, left, 1));
        return absl::OkStatus();
      case te::CompareOp::kGt:
        conditions.push_back(difference(left, right, 0));
        return absl::OkStatus();
      case te::CompareOp::kGe:
        conditions.push_back(difference(left, right, 1));
        return absl::OkStatus();
      default:
        return Refuse(StrCat("the condition ", te::ToString(e), " is no bound"));
    }
  }

 private:
  absl::Status Refuse(const std::string& why) const {
    const std::string store = nest_.call ? StrCat(": ", te::ToString(nest_.call))
                              : nest_.buffer == nullptr
                                  ? ""
                                  : StrCat(": ", nest_.buffer->name, "[...] = ", te::ToString(nest_.value));
    return absl::InvalidArgumentError(StrCat("VDLA has no operation for this nest, as ", why, store));
  }

  absl::StatusOr<NestIndex> LinearOf(const Expr& e) const {
    NestIndex index{Linear(), std::vector<int64_t>(nest_.loops.size())};
    const std::optional<te::LinearSum> sum = te::ToLinear(e);
    if (!sum.has_value()) return Refuse(StrCat("the index ", te::ToString(e), " is too long"));
    index.outer.constant = sum->constant;
    for (const auto& [atom, coefficient] : sum->terms) {
      const auto loop =
          std::find_if(nest_.loops.begin(), nest_.loops.end(), [&](const NestLoop& l) { return l.var.Same(atom); });
      if (loop != nest_.loops.end()) {
        index.strides[static_cast<size_t>(loop - nest_.loops.begin())] += coefficient;
        continue;
      }
      const auto variable = scope_.variables.find(atom.get());
      if (variable == scope_.variables.end())
        return Refuse(StrCat("the index ", te::ToString(e), " is not linear in ", te::ToString(atom)));
      index.outer.terms.push_back({variable->second, coefficient});
    }
    return index;
  }

  // Where the element lies in its buffer, in row-major order.
  absl::StatusOr<NestIndex> IndexOf(const ir::Buffer& buffer, const std::vector<Expr>& indices) const {
    NestIndex flat{Linear(), std::vector<int64_t>(nest_.loops.size())};
    for (size_t d = 0; d < indices.size(); ++d) {
      SMELT_ASSIGN_OR_RETURN(const NestIndex index, LinearOf(indices[d]));
      const int64_t extent = d == 0 ? 0 : buffer->shape[d];
      flat.outer = extent * flat.outer + index.outer;
      for (size_t i = 0; i < flat.strides.size(); ++i) flat.strides[i] = extent * flat.strides[i] + index.strides[i];
    }
    flat.outer = Collected(flat.outer);
    return flat;
  }

  // A guard of outer variables is a condition of the operation; one of a loop shortens it.
  absl::Status ApplyGuard(const Expr& guard) {
    std::vector<NestIndex> conditions;
    SMELT_RETURN_IF_ERROR(Conditions(guard, conditions));
    for (const NestIndex& condition : conditions) {
      int moving = -1;
      for (size_t i = 0; i < condition.strides.size(); ++i) {
        if (condition.strides[i] == 0) continue;
        if (moving >= 0 || condition.strides[i] != -1)
          return Refuse(StrCat("the guard ", te::ToString(guard), " is no end of one loop"));
        moving = static_cast<int>(i);
      }
      if (moving < 0) {
        when_.push_back(condition.outer);
      } else if (dims_[moving].remaining.has_value()) {
        return Refuse(StrCat("the guard ", te::ToString(guard), " is a second end of one loop"));
      } else {
        dims_[moving].remaining = condition.outer;
      }
    }
    return absl::OkStatus();
  }

  std::vector<NestDim> DimsOf(const std::vector<const NestIndex*>& operands) const {
    std::vector<NestDim> dims;
    for (size_t i = 0; i < dims_.size(); ++i) {
      NestDim dim = dims_[i];
      for (const NestIndex* operand : operands) dim.strides.push_back(operand->strides[i]);
      if (dim.extent > 1 || dim.remaining.has_value() || dim.bounds.has_value()) dims.push_back(std::move(dim));
    }
    return dims;
  }

  // Takes the loops over `count` lanes out of the dimensions: those that move each operand by its unit.
  absl::Status TakeLanes(int64_t count, const std::vector<int64_t>& units, std::vector<NestDim>& dims) const {
    int64_t taken = 1;
    while (taken < count) {
      const auto lanes = std::find_if(dims.begin(), dims.end(), [&](const NestDim& dim) {
        for (size_t o = 0; o < units.size(); ++o) {
          if (dim.strides[o] != units[o] * taken) return false;
        }
        return !dim.remaining.has_value() && !dim.bounds.has_value();
      });
      const int64_t rest = count / taken;
      if (lanes == dims.end() || (rest % lanes->extent != 0 && lanes->extent % rest != 0))
        return Refuse(StrCat("no loop runs over the ", count, " lanes of an element"));
      if (rest % lanes->extent == 0) {
        taken *= lanes->extent;
        dims.erase(lanes);
        continue;
      }
      lanes->extent /= rest;
      for (int64_t& stride : lanes->strides) stride *= rest;
      taken = count;
    }
    return absl::OkStatus();
  }

  // From scalars to elements of so many of them.
  absl::Status Divide(int64_t lanes, size_t operand, NestIndex& index, std::vector<NestDim>& dims) const {
    bool whole = index.outer.constant % lanes == 0;
    index.outer.constant /= lanes;
    for (auto& [variable, coefficient] : index.outer.terms) {
      whole &= coefficient % lanes == 0;
      coefficient /= lanes;
    }
    for (NestDim& dim : dims) {
      whole &= dim.strides[operand] % lanes == 0;
      dim.strides[operand] /= lanes;
    }
    return whole ? absl::OkStatus()
                 : Refuse(StrCat("an index is not a multiple of the ", lanes, " lanes of an element"));
  }

  int64_t LanesOf(Memory memory) const {
    if (memory == Memory::kInp) return config_.batch * config_.block_in;
    if (memory == Memory::kWgt) return config_.block_out * config_.block_in;
    return config_.batch * config_.block_out;
  }

  // memory = a load of DRAM, or a constant where a condition does not hold.
  absl::Status Load(Memory memory, Expr value) {
    Copy copy{.memory = memory};
    if (value->kind == ExprKind::kIf || value->kind == ExprKind::kSelect) {
      std::vector<NestIndex> conditions;
      SMELT_RETURN_IF_ERROR(Conditions(value->operands[0], conditions));
      SMELT_RETURN_IF_ERROR(ApplyPadding(conditions));
      int64_t pad;
      Expr otherwise = value->operands[2];
      if (!te::IsConstInt(otherwise, &pad) || pad < -128 || pad > 127)
        return Refuse("what fills the padding is no constant of int8");
      copy.pad_value = static_cast<int32_t>(pad);
      value = value->operands[1];
    }
    if (memory == Memory::kAcc && value->kind == ExprKind::kCast) {
      copy.memory = Memory::kAcc8;
      value = value->operands[0];
    }
    const PrimitiveType type = copy.memory == Memory::kAcc ? PrimitiveType::kS32 : PrimitiveType::kS8;
    if (value->kind != ExprKind::kLoad || value->predicate || MemoryOf(value->buffer->scope).has_value() ||
        value.type().element != type)
      return Refuse(StrCat("what fills ", isa::NameOf(memory), " is no load of ",
                           type == PrimitiveType::kS8 ? "s8" : "s32", " from DRAM"));
    return AppendCopy(std::move(copy), nest_.buffer, nest_.indices, value->buffer, value->operands);
  }

  absl::Status AppendCopy(Copy copy, const ir::Buffer& sram, const std::vector<Expr>& sram_indices,
                          const ir::Buffer& dram, const std::vector<Expr>& dram_indices) {
    SMELT_ASSIGN_OR_RETURN(copy.sram, scope_.sram(sram));
    SMELT_ASSIGN_OR_RETURN(copy.dram, scope_.dram(dram, copy.memory));
    SMELT_ASSIGN_OR_RETURN(NestIndex to, IndexOf(sram, sram_indices));
    SMELT_ASSIGN_OR_RETURN(NestIndex from, IndexOf(dram, dram_indices));
    std::vector<NestDim> dims = DimsOf({&to, &from});
    const int64_t lanes = LanesOf(copy.memory);
    SMELT_RETURN_IF_ERROR(TakeLanes(lanes, {1, 1}, dims));
    SMELT_RETURN_IF_ERROR(Divide(lanes, 0, to, dims));
    SMELT_RETURN_IF_ERROR(Divide(lanes, 1, from, dims));
    copy.sram_index = to.outer;
    copy.dram_index = from.outer;
    for (const NestDim& dim : dims) {
      copy.dims.push_back({.extent = dim.extent,
                           .remaining = dim.remaining,
                           .sram_stride = dim.strides[0],
                           .dram_stride = dim.strides[1],
                           .bounds = dim.bounds});
    }
    for (const NestDim& dim : outer_bounds_)
      copy.dims.insert(copy.dims.begin(),
                       {.extent = 1, .remaining = {}, .sram_stride = 0, .dram_stride = 0, .bounds = dim.bounds});
    nodes_.push_back(std::move(copy));
    return absl::OkStatus();
  }

  // Conditions of a padded load: of one loop each, at most one from below and one from above.
  absl::Status ApplyPadding(const std::vector<NestIndex>& conditions) {
    constexpr int64_t kFar = int64_t{1} << 40;
    struct Sides {
      std::optional<Linear> low, high;  // low + step * i >= 0, high - step * i > 0
      int64_t step = 1;
    };
    std::map<int, Sides> sides;  // by loop
    for (const NestIndex& condition : conditions) {
      int moving = -1;
      for (size_t i = 0; i < condition.strides.size(); ++i) {
        if (condition.strides[i] == 0) continue;
        if (moving >= 0) return Refuse("a condition of padding has two loops");
        moving = static_cast<int>(i);
      }
      if (moving < 0) {  // all or nothing: position 0 of one
        outer_bounds_.push_back(
            {.extent = 1, .bounds = CopyDim::Bounds{.origin = condition.outer - 1, .step = 1, .limit = kFar}});
        continue;
      }
      const int64_t stride = condition.strides[moving];
      Sides& side = sides[moving];
      if ((side.low.has_value() || side.high.has_value()) && side.step != std::abs(stride))
        return Refuse("two conditions of padding have different steps");
      side.step = std::abs(stride);
      std::optional<Linear>& bound = stride > 0 ? side.low : side.high;
      if (bound.has_value()) return Refuse("a loop has two conditions of padding on one side");
      bound = stride > 0 ? condition.outer - 1 : condition.outer;
    }
    for (const auto& [loop, side] : sides) {
      const Linear low = side.low.value_or(Linear(kFar) - side.high.value_or(Linear()));
      CopyDim::Bounds bounds{.origin = low, .step = side.step, .limit = 2 * kFar};
      if (side.high.has_value()) {
        const Linear limit = Collected(*side.high + low);
        if (!limit.terms.empty()) return Refuse("the ends of the padding move apart");
        bounds.limit = limit.constant;
      }
      dims_[loop].bounds = bounds;
    }
    return absl::OkStatus();
  }

  absl::Status ToAccumulators() {
    const Expr& value = nest_.value;
    if (int64_t zero; te::IsConstInt(value, &zero) && zero == 0) return AppendReset();
    if (IsBinary(value, BinaryOp::kAdd)) {
      for (const int sum : {0, 1}) {
        const Expr& before = value->operands[sum];
        const Expr& product = value->operands[1 - sum];
        if (!IsThis(before) || !IsBinary(product, BinaryOp::kMul)) continue;
        for (const int left : {0, 1}) {
          const te::ExprNode* inp = WidenedLoad(product->operands[left], Memory::kInp);
          const te::ExprNode* wgt = WidenedLoad(product->operands[1 - left], Memory::kWgt);
          if (inp != nullptr && wgt != nullptr) return AppendGemm(*inp, *wgt);
        }
      }
    }
    bool of_dram = false, of_acc = false;
    te::Visit(value, [&](const Expr& e) {
      if (e->kind != ExprKind::kLoad) return;
      (MemoryOf(e->buffer->scope).has_value() ? of_acc : of_dram) = true;
    });
    if (of_dram && !of_acc) return Load(Memory::kAcc, value);
    std::vector<AluTerm> chain;
    SMELT_RETURN_IF_ERROR(ChainOf(value, chain));
    return AppendChain(chain, nest_.buffer, nest_.indices, /*may_alias=*/true);
  }

  bool IsThis(const Expr& e) const {
    if (e->kind != ExprKind::kLoad || e->predicate || e->buffer != nest_.buffer) return false;
    return std::equal(e->operands.begin(), e->operands.end(), nest_.indices.begin(), nest_.indices.end(),
                      [](const Expr& a, const Expr& b) { return a.Same(b); });
  }

  absl::Status AppendReset() {
    SMELT_ASSIGN_OR_RETURN(const NestIndex dst, IndexOf(nest_.buffer, nest_.indices));
    std::vector<NestDim> dims = DimsOf({&dst});
    SMELT_RETURN_IF_ERROR(TakeLanes(LanesOf(Memory::kAcc), {1}, dims));
    return AppendProduct({nest_.buffer}, {dst}, std::move(dims), {.start = Gemm::Start::kZero});
  }

  absl::Status AppendGemm(const te::ExprNode& inp, const te::ExprNode& wgt) {
    SMELT_ASSIGN_OR_RETURN(const NestIndex dst, IndexOf(nest_.buffer, nest_.indices));
    SMELT_ASSIGN_OR_RETURN(const NestIndex src, IndexOf(inp.buffer, inp.operands));
    SMELT_ASSIGN_OR_RETURN(const NestIndex weight, IndexOf(wgt.buffer, wgt.operands));
    std::vector<NestDim> dims = DimsOf({&dst, &src, &weight});
    SMELT_RETURN_IF_ERROR(TakeLanes(config_.block_in, {0, 1, 1}, dims));
    SMELT_RETURN_IF_ERROR(TakeLanes(config_.block_out, {1, 0, config_.block_in}, dims));
    SMELT_RETURN_IF_ERROR(TakeLanes(config_.batch, {config_.block_out, config_.block_in, 0}, dims));
    return AppendProduct({nest_.buffer, inp.buffer, wgt.buffer}, {dst, src, weight}, std::move(dims), {});
  }

  // A call names the first lanes of elements, so that no loop runs over lanes.
  absl::Status AppendCall() {
    const GemmCall call = nest_.call->kind == ExprKind::kCall ? GemmCallOf(*nest_.call->intrinsic) : GemmCall();
    if (!call.is_gemm) return Refuse("the call is none of its instructions");
    const Memory kMemories[] = {Memory::kAcc, Memory::kInp, Memory::kWgt};
    std::vector<ir::Buffer> buffers;
    std::vector<NestIndex> indices;
    for (const Expr& address : nest_.call->operands) {
      if (address->kind != ExprKind::kAddress || MemoryOf(address->buffer->scope) != kMemories[buffers.size()])
        return Refuse(StrCat("an operand is no element of ", isa::NameOf(kMemories[buffers.size()])));
      buffers.push_back(address->buffer);
      SMELT_ASSIGN_OR_RETURN(indices.emplace_back(), IndexOf(address->buffer, address->operands));
    }
    std::vector<const NestIndex*> pointers;
    for (const NestIndex& index : indices) pointers.push_back(&index);
    std::vector<NestDim> dims = DimsOf(pointers);
    Gemm gemm;
    if (call.resets) gemm.start = call.multiplies ? Gemm::Start::kFirst : Gemm::Start::kZero;
    for (const NestDim& dim : dims) {
      if (call.resets && call.multiplies && dim.strides[0] == 0)
        return Refuse("a loop of the sum is around a call that starts anew");
    }
    return AppendProduct(buffers, std::move(indices), std::move(dims), std::move(gemm));
  }

  // `buffers` and `indices`: of the accumulators and, unless they are only zeroed, of inputs and weights.
  absl::Status AppendProduct(const std::vector<ir::Buffer>& buffers, std::vector<NestIndex> indices,
                             std::vector<NestDim> dims, Gemm gemm) {
    const struct {
      Memory memory;
      SramBuffer Gemm::*buffer;
      Linear Gemm::*index;
      int64_t WorkDim::*stride;
    } kOperands[] = {{Memory::kAcc, &Gemm::dst, &Gemm::dst_index, &WorkDim::dst},
                     {Memory::kInp, &Gemm::src, &Gemm::src_index, &WorkDim::src},
                     {Memory::kWgt, &Gemm::wgt, &Gemm::wgt_index, &WorkDim::wgt}};
    for (const NestDim& dim : dims) gemm.dims.push_back({.extent = dim.extent, .remaining = dim.remaining});
    for (size_t o = 0; o < buffers.size(); ++o) {
      SMELT_ASSIGN_OR_RETURN(gemm.*kOperands[o].buffer, scope_.sram(buffers[o]));
      SMELT_RETURN_IF_ERROR(Divide(LanesOf(kOperands[o].memory), o, indices[o], dims));
      gemm.*kOperands[o].index = indices[o].outer;
      for (size_t d = 0; d < dims.size(); ++d) gemm.dims[d].*kOperands[o].stride = dims[d].strides[o];
    }
    nodes_.push_back(std::move(gemm));
    return absl::OkStatus();
  }

  // The value as operations on one tile, the first of which brings it there: MOV of a load.
  absl::Status ChainOf(const Expr& e, std::vector<AluTerm>& chain) const {
    if (IsLoadOf(e, Memory::kAcc)) {
      chain.push_back({AluOp::kMov, e.get()});
      return absl::OkStatus();
    }
    std::optional<AluOp> op;
    bool commutes = false;
    if (e->kind == ExprKind::kBinary) {
      for (const auto& row : kAluOps) {
        if (row.binary == e->binary()) op = row.op, commutes = row.commutes;
      }
    } else if (e->kind == ExprKind::kCall && e->intrinsic->name == MulShift()->name) {
      op = AluOp::kMulShift;
    }
    if (!op.has_value() || e.type().element != PrimitiveType::kS32)
      return Refuse(StrCat("the ALU does not compute ", te::ToString(e)));
    const Expr *x = &e->operands[0], *y = &e->operands[1];
    const auto is_operand = [](const Expr& operand) {
      int64_t value;
      return IsLoadOf(operand, Memory::kAcc) ||
             (te::IsConstInt(operand, &value) && value >= INT16_MIN && value <= INT16_MAX);
    };
    if (commutes && (te::IsConstInt(*x) || (!is_operand(*y) && !te::IsConstInt(*y)))) std::swap(x, y);
    if (!is_operand(*y))
      return Refuse(
          StrCat("the second operand of ", te::ToString(e), " is neither an accumulator nor a constant of 16 bits"));
    SMELT_RETURN_IF_ERROR(ChainOf(*x, chain));
    AluTerm term{*op};
    if (!te::IsConstInt(*y, &term.imm)) term.load = y->get();
    chain.push_back(term);
    return absl::OkStatus();
  }

  // The chain on the tile at buffer[indices]. With `may_alias` the tile may take the place of the one that the chain
  // begins with, where that has the same indices and nothing needs it afterwards.
  absl::Status AppendChain(const std::vector<AluTerm>& chain, const ir::Buffer& buffer,
                           const std::vector<Expr>& indices, bool may_alias) {
    SMELT_ASSIGN_OR_RETURN(const NestIndex dst, IndexOf(buffer, indices));
    size_t begin = 0;
    const te::ExprNode& start = *chain[0].load;
    SMELT_ASSIGN_OR_RETURN(const NestIndex from, IndexOf(start.buffer, start.operands));
    const bool same = from.strides == dst.strides && Collected(from.outer - dst.outer).terms.empty() &&
                      from.outer.constant == dst.outer.constant;
    if (start.buffer == buffer) {
      if (same) begin = 1;
    } else if (may_alias && same && start.buffer->ElementCount() >= buffer->ElementCount() &&
               scope_.take(start.buffer, buffer)) {
      begin = 1;
    }
    SMELT_ASSIGN_OR_RETURN(const SramBuffer tile, scope_.sram(buffer));
    for (size_t i = begin; i < chain.size(); ++i) {
      const AluTerm& term = chain[i];
      Alu alu{.op = term.op, .dst = tile};
      NestIndex to = dst, src{Linear(), std::vector<int64_t>(nest_.loops.size())};
      const int64_t lanes = LanesOf(Memory::kAcc);
      std::vector<NestDim> dims;
      if (term.load != nullptr) {
        SMELT_ASSIGN_OR_RETURN(alu.src, scope_.sram(term.load->buffer));
        SMELT_ASSIGN_OR_RETURN(src, IndexOf(term.load->buffer, term.load->operands));
        dims = DimsOf({&to, &src});
        SMELT_RETURN_IF_ERROR(TakeLanes(lanes, {1, 1}, dims));
        SMELT_RETURN_IF_ERROR(Divide(lanes, 1, src, dims));
      } else {
        alu.imm = static_cast<int32_t>(term.imm);
        dims = DimsOf({&to, &src});
        SMELT_RETURN_IF_ERROR(TakeLanes(lanes, {1, 0}, dims));
      }
      SMELT_RETURN_IF_ERROR(Divide(lanes, 0, to, dims));
      alu.dst_index = to.outer;
      alu.src_index = src.outer;
      for (const NestDim& dim : dims) {
        // A chain of several steps visits each element once.
        if (dim.strides[0] == 0 && chain.size() - begin > 1) return Refuse("a loop visits the same elements again");
        alu.dims.push_back(
            {.extent = dim.extent, .remaining = dim.remaining, .dst = dim.strides[0], .src = dim.strides[1]});
      }
      nodes_.push_back(std::move(alu));
    }
    return absl::OkStatus();
  }

  absl::Status StoreToDram() {
    Expr value = nest_.value;
    Copy copy{.store = true, .memory = Memory::kAcc};
    if (nest_.buffer->type == PrimitiveType::kS8) {
      copy.memory = Memory::kAcc8;
      if (value->kind != ExprKind::kCast || value->operands[0].type().element != PrimitiveType::kS32)
        return Refuse("what is stored as s8 is no s32");
      value = value->operands[0];
    } else if (nest_.buffer->type != PrimitiveType::kS32) {
      return Refuse("what is stored is neither s8 nor s32");
    }
    std::vector<AluTerm> chain;
    SMELT_RETURN_IF_ERROR(ChainOf(value, chain));
    if (copy.memory == Memory::kAcc8) SMELT_RETURN_IF_ERROR(TakeSaturation(chain));
    const te::ExprNode& start = *chain[0].load;
    if (chain.size() > 1) {
      if (!scope_.take(start.buffer, nullptr))
        return Refuse(StrCat("`", start.buffer->name, "` would be changed in place and is needed afterwards"));
      SMELT_RETURN_IF_ERROR(AppendChain(chain, start.buffer, start.operands, /*may_alias=*/false));
    }
    return AppendCopy(std::move(copy), start.buffer, start.operands, nest_.buffer, nest_.indices);
  }

  // Conversion to int8 keeps the low bits, a STORE saturates: they agree on values that are cut off before. The STORE
  // does as much of that as it can.
  absl::Status TakeSaturation(std::vector<AluTerm>& chain) const {
    std::optional<int64_t> low, high;
    size_t end = chain.size();
    for (; end > 1 && chain[end - 1].load == nullptr; --end) {
      if (chain[end - 1].op == AluOp::kMax && !low.has_value()) {
        low = chain[end - 1].imm;
      } else if (chain[end - 1].op == AluOp::kMin && !high.has_value()) {
        high = chain[end - 1].imm;
      } else {
        break;
      }
    }
    if (!low.has_value() || !high.has_value() || *low < -128 || *high > 127 || *low > *high)
      return Refuse("what becomes s8 is not cut off at -128 and 127, or inside, before");
    chain.resize(end);
    if (*low > -128) chain.push_back({AluOp::kMax, nullptr, *low});
    if (*high < 127) chain.push_back({AluOp::kMin, nullptr, *high});
    return absl::OkStatus();
  }

  const LoopNest& nest_;
  const NestScope& scope_;
  const isa::Config& config_;
  std::vector<NestDim> dims_;          // by loop, without strides
  std::vector<NestDim> outer_bounds_;  // conditions of padding that hold for the whole box or not at all
  std::vector<Linear> when_;
  std::vector<Node> nodes_;
};

}  // namespace

absl::StatusOr<std::vector<Node>> RecogniseNest(const LoopNest& nest, const NestScope& scope) {
  return Recogniser(nest, scope).Run();
}

absl::StatusOr<std::vector<Linear>> ConditionsOf(const te::Expr& e, const NestScope& scope) {
  const LoopNest none;
  std::vector<NestIndex> conditions;
  SMELT_RETURN_IF_ERROR(Recogniser(none, scope).Conditions(e, conditions));
  std::vector<Linear> result;
  for (NestIndex& condition : conditions) result.push_back(std::move(condition.outer));
  return result;
}

}  // namespace smelt::vdla::lower
