#include "vdla/lower/nest_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/te/simplify/linear.h"
#include "vdla/lower/memories.h"

namespace smelt::vdla::lower {

using isa::Memory;
using te::BinaryOp;
using te::Expr;
using te::ExprKind;

bool IsBinary(const Expr& e, BinaryOp op) { return e->kind == ExprKind::kBinary && e->binary() == op; }

bool IsLoadOf(const Expr& e, Memory memory) {
  return e->kind == ExprKind::kLoad && !e->predicate && MemoryOf(e->buffer->scope) == memory;
}

Linear Collected(const Linear& linear) {
  std::map<Variable, int64_t> terms;
  for (const auto& [variable, coefficient] : linear.terms) terms[variable] += coefficient;
  Linear result(linear.constant);
  for (const auto& [variable, coefficient] : terms) {
    if (coefficient != 0) result.terms.push_back({variable, coefficient});
  }
  return result;
}

NestReader::NestReader(const LoopNest& nest, const NestScope& scope)
    : nest_(nest), scope_(scope), config_(*scope.config) {
  for (const NestLoop& loop : nest_.loops) dims_.push_back({.extent = loop.extent});
}

absl::Status NestReader::ApplyGuards() {
  for (const Expr& guard : nest_.guards) SMELT_RETURN_IF_ERROR(ApplyGuard(guard));
  return absl::OkStatus();
}

absl::Status NestReader::Conditions(const Expr& e, std::vector<NestIndex>& conditions) const {
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

absl::StatusOr<NestIndex> NestReader::LinearOf(const Expr& e) const {
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

absl::StatusOr<NestIndex> NestReader::IndexOf(const ir::Buffer& buffer, const std::vector<Expr>& indices) const {
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

std::vector<NestDim> NestReader::DimsOf(const std::vector<const NestIndex*>& operands) const {
  std::vector<NestDim> dims;
  for (size_t i = 0; i < dims_.size(); ++i) {
    NestDim dim = dims_[i];
    for (const NestIndex* operand : operands) dim.strides.push_back(operand->strides[i]);
    if (dim.extent > 1 || dim.remaining.has_value() || dim.bounds.has_value()) dims.push_back(std::move(dim));
  }
  return dims;
}

absl::Status NestReader::TakeLanes(int64_t count, const std::vector<int64_t>& units, std::vector<NestDim>& dims) const {
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

absl::Status NestReader::Divide(int64_t lanes, size_t operand, NestIndex& index, std::vector<NestDim>& dims) const {
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
  return whole ? absl::OkStatus() : Refuse(StrCat("an index is not a multiple of the ", lanes, " lanes of an element"));
}

int64_t NestReader::LanesOf(Memory memory) const {
  if (memory == Memory::kInp) return config_.batch * config_.block_in;
  if (memory == Memory::kWgt) return config_.block_out * config_.block_in;
  return config_.batch * config_.block_out;
}

absl::Status NestReader::Refuse(const std::string& why) const {
  const std::string store = nest_.call ? StrCat(": ", te::ToString(nest_.call))
                            : nest_.buffer == nullptr
                                ? ""
                                : StrCat(": ", nest_.buffer->name, "[...] = ", te::ToString(nest_.value));
  return absl::InvalidArgumentError(StrCat("VDLA has no operation for this nest, as ", why, store));
}

absl::Status NestReader::ApplyGuard(const Expr& guard) {
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

}  // namespace smelt::vdla::lower
