#include "vdla/lower/nest_chains.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/te/intrinsic.h"
#include "vdla/lower/memories.h"

namespace smelt::vdla::lower {

using isa::AluOp;
using isa::Memory;
using te::BinaryOp;
using te::Expr;
using te::ExprKind;
using te::PrimitiveType;

namespace {

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

}  // namespace

absl::Status NestChains::ChainOf(const Expr& e, std::vector<AluTerm>& chain) const {
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

absl::Status NestChains::AppendChain(const std::vector<AluTerm>& chain, const ir::Buffer& buffer,
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

absl::Status NestChains::StoreToDram() {
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

absl::Status NestChains::TakeSaturation(std::vector<AluTerm>& chain) const {
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

}  // namespace smelt::vdla::lower
