#include "vdla/lower/nest_copies.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/lower/memories.h"

namespace smelt::vdla::lower {

using isa::Memory;
using te::Expr;
using te::ExprKind;
using te::PrimitiveType;

absl::Status NestCopies::Load(Memory memory, Expr value) {
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

absl::Status NestCopies::AppendCopy(Copy copy, const ir::Buffer& sram, const std::vector<Expr>& sram_indices,
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

absl::Status NestCopies::ApplyPadding(const std::vector<NestIndex>& conditions) {
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

}  // namespace smelt::vdla::lower
