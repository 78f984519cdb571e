#include "vdla/lower/nest.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/lower/intrinsics.h"
#include "vdla/lower/memories.h"
#include "vdla/lower/nest_chains.h"

namespace smelt::vdla::lower {
namespace {

using isa::Memory;
using te::BinaryOp;
using te::Expr;
using te::ExprKind;
using te::PrimitiveType;

// int8 of a memory, widened.
const te::ExprNode* WidenedLoad(const Expr& e, Memory memory) {
  if (e->kind != ExprKind::kCast || e->type.element != PrimitiveType::kS32) return nullptr;
  const Expr& load = e->operands[0];
  return IsLoadOf(load, memory) && load.type().element == PrimitiveType::kS8 ? load.get() : nullptr;
}

class Recogniser : public NestChains {
 public:
  using NestChains::NestChains;

  absl::StatusOr<std::vector<Node>> Run() {
    SMELT_RETURN_IF_ERROR(ApplyGuards());
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

 private:
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
};

}  // namespace

absl::StatusOr<std::vector<Node>> RecogniseNest(const LoopNest& nest, const NestScope& scope) {
  return Recogniser(nest, scope).Run();
}

absl::StatusOr<std::vector<Linear>> ConditionsOf(const te::Expr& e, const NestScope& scope) {
  const LoopNest none;
  std::vector<NestIndex> conditions;
  SMELT_RETURN_IF_ERROR(NestReader(none, scope).Conditions(e, conditions));
  std::vector<Linear> result;
  for (NestIndex& condition : conditions) result.push_back(std::move(condition.outer));
  return result;
}

}  // namespace smelt::vdla::lower
