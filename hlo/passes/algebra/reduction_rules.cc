#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo/passes/algebra/dimension_groups.h"
#include "hlo/passes/algebra/identities.h"
#include "hlo/passes/algebra/rule.h"
#include "hlo/rewrite/constants.h"

namespace smelt::hlo {
namespace {

using Dimensions = std::vector<int64_t>;

const Dimensions& DimensionsOf(const Instruction& x) { return x.attributes<DimensionsAttributes>().dimensions; }

// A reduction of one array (variadic ones are left as they are).
bool IsSingle(const Instruction& x) { return x.operand_count() == 2 && x.shape().IsArray(); }

// A reduction that starts with the identity of its operation may use the initial value any number of times, also none:
// that is what HLO asks of an initial value.
bool StartsWithIdentity(const Instruction& x) {
  if (!IsSingle(x)) return false;
  const std::optional<Opcode> operation = BinaryOperation(*x.called(0));
  return operation && IsIdentityOf(*operation, *x.operand(1));
}

// Dimensions of size 1 need no reduction: a reshape drops them.
Instruction* ReduceOnes(Instruction& x, GraphBuilder& build) {
  if (!StartsWithIdentity(x)) return nullptr;
  const Dimensions& from = x.operand(0)->shape().dimensions;
  Dimensions without, reduced;
  for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d) {
    const bool is_reduced = absl::c_linear_search(DimensionsOf(x), d);
    if (is_reduced && from[d] == 1) continue;
    if (is_reduced) reduced.push_back(static_cast<int64_t>(without.size()));
    without.push_back(from[d]);
  }
  if (reduced.size() == DimensionsOf(x).size() && !reduced.empty()) return nullptr;
  Instruction* smaller = build.Reshape(x.operand(0), std::move(without));
  return reduced.empty() ? smaller : build.Reduce(smaller, x.operand(1), std::move(reduced), x.called(0));
}

// reduce(reshape(y)) -> reshape(reduce(y)) where whole groups of dimensions are reduced.
Instruction* ReduceOfReshape(Instruction& x, GraphBuilder& build) {
  Instruction& reshape = *x.operand(0);
  if (!IsSingle(x) || reshape.opcode() != Opcode::kReshape) return nullptr;
  Instruction* y = reshape.operand(0);
  const Dimensions& to = reshape.shape().dimensions;
  if (OnlyOnesDiffer(to, y->shape().dimensions)) return nullptr;  // such a reshape is what is left of ones
  const std::vector<DimensionGroup> groups = GroupDimensions(to, y->shape().dimensions);
  if (groups.empty()) return nullptr;
  // Reduced dimensions of size 1 in a group that is kept would leave the initial value out.
  if (!StartsWithIdentity(x)) return nullptr;
  Dimensions reduced;
  for (const DimensionGroup& group : groups) {
    const auto is_reduced =
        HoldsForGroup(group, to, [&](int64_t d) { return absl::c_linear_search(DimensionsOf(x), d); });
    if (!is_reduced) return nullptr;
    if (!*is_reduced) continue;
    for (int64_t d = group.to_begin; d < group.to_end; ++d) reduced.push_back(d);
  }
  if (reduced.empty()) return nullptr;
  return build.Reshape(build.Reduce(y, x.operand(1), std::move(reduced), x.called(0)), x.shape().dimensions);
}

// reduce(transpose(y)) -> reduce(y), and a transpose of what is left where its order changes.
Instruction* ReduceOfTranspose(Instruction& x, GraphBuilder& build) {
  Instruction& transpose = *x.operand(0);
  if (!IsSingle(x) || transpose.opcode() != Opcode::kTranspose) return nullptr;
  Dimensions reduced, kept;  // as dimensions of y
  for (int64_t d = 0; d < transpose.shape().rank(); ++d) {
    (absl::c_linear_search(DimensionsOf(x), d) ? reduced : kept).push_back(DimensionsOf(transpose)[d]);
  }
  std::sort(reduced.begin(), reduced.end());
  const bool reordered = !std::is_sorted(kept.begin(), kept.end());
  if (reordered && transpose.user_count() > 1) return nullptr;
  Instruction* result = build.Reduce(transpose.operand(0), x.operand(1), std::move(reduced), x.called(0));
  if (!reordered) return result;
  Dimensions in_order = kept, permutation;
  std::sort(in_order.begin(), in_order.end());
  for (int64_t d : kept) {
    permutation.push_back(std::lower_bound(in_order.begin(), in_order.end(), d) - in_order.begin());
  }
  return build.Transpose(result, std::move(permutation));
}

// Two reductions with one operation are one over all their dimensions.
Instruction* ReduceOfReduce(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kReduce || inner.user_count() > 1) return nullptr;
  if (!StartsWithIdentity(x) || !StartsWithIdentity(inner)) return nullptr;
  if (BinaryOperation(*x.called(0)) != BinaryOperation(*inner.called(0))) return nullptr;
  Dimensions reduced = DimensionsOf(inner);
  int64_t position = 0;
  for (int64_t d = 0; d < inner.operand(0)->shape().rank(); ++d) {
    if (absl::c_linear_search(DimensionsOf(inner), d)) continue;
    if (absl::c_linear_search(DimensionsOf(x), position++)) reduced.push_back(d);
  }
  std::sort(reduced.begin(), reduced.end());
  return build.Reduce(inner.operand(0), x.operand(1), std::move(reduced), x.called(0));
}

// reduce(broadcast(y)) over dimensions that the broadcast made: a maximum is y, a sum of n is n * y.
Instruction* ReduceOfBroadcast(Instruction& x, GraphBuilder& build) {
  Instruction& broadcast = *x.operand(0);
  if (!StartsWithIdentity(x) || broadcast.opcode() != Opcode::kBroadcast) return nullptr;
  const Dimensions& mapping = DimensionsOf(broadcast);
  if (!std::is_sorted(mapping.begin(), mapping.end())) return nullptr;
  Dimensions position(broadcast.shape().rank(), -1);
  double count = 1;
  int64_t next = 0;
  for (int64_t d = 0; d < broadcast.shape().rank(); ++d) {
    if (!absl::c_linear_search(DimensionsOf(x), d)) {
      position[d] = next++;
    } else if (absl::c_linear_search(mapping, d)) {
      return nullptr;
    } else {
      count *= static_cast<double>(broadcast.shape().dimensions[d]);
    }
  }
  Dimensions kept;
  for (int64_t d : mapping) kept.push_back(position[d]);
  const Opcode operation = *BinaryOperation(*x.called(0));
  const PrimitiveType type = x.shape().element_type;
  switch (operation) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kAnd:
    case Opcode::kOr:
      return build.Broadcast(broadcast.operand(0), x.shape().dimensions, std::move(kept));
    case Opcode::kAdd: {
      // One rounding instead of n; only where n itself is exact.
      if (type == PrimitiveType::kPred || IsComplex(type) || BitWidth(type) < 16) return nullptr;
      if (ScalarLiteral(type, count).GetDouble(0) != count) return nullptr;
      Instruction* y = broadcast.operand(0);
      Instruction* times = build.BroadcastScalar(build.Scalar(type, count), y->shape());
      return build.Broadcast(build.Binary(Opcode::kMultiply, y, times), x.shape().dimensions, std::move(kept));
    }
    default:
      return nullptr;
  }
}

const std::vector<WindowDimension>& WindowOf(const Instruction& x) {
  return x.attributes<WindowAttributes>().window.dimensions;
}

// A window of one element.
Instruction* ReduceWindowOfOne(Instruction& x, GraphBuilder&) {
  if (!StartsWithIdentity(x) || !x.shape().SameDimensions(x.operand(0)->shape())) return nullptr;
  for (const WindowDimension& d : WindowOf(x)) {
    if (d.size != 1 || d.stride != 1 || d.padding_low != 0 || d.padding_high != 0 || d.base_dilation != 1) {
      return nullptr;
    }
  }
  return x.operand(0);
}

// Padding with the initial value is padding of the window.
Instruction* ReduceWindowOfPad(Instruction& x, GraphBuilder& build) {
  Instruction& pad = *x.operand(0);
  if (!StartsWithIdentity(x) || pad.opcode() != Opcode::kPad) return nullptr;
  const Literal* value = UniformLiteral(*pad.operand(1));
  const Literal* init = UniformLiteral(*x.operand(1));
  if (value == nullptr || ElementLiteral(*value, 0) != ElementLiteral(*init, 0)) return nullptr;
  Window window = x.attributes<WindowAttributes>().window;
  for (size_t d = 0; d < window.dimensions.size(); ++d) {
    const PadDimension& padding = pad.attributes<PadAttributes>().dimensions[d];
    if (padding.low < 0 || padding.high < 0 || padding.interior != 0) return nullptr;
    if (window.dimensions[d].base_dilation != 1) return nullptr;
    window.dimensions[d].padding_low += padding.low;
    window.dimensions[d].padding_high += padding.high;
  }
  return build.Add(Opcode::kReduceWindow, Shape::Array(x.shape().element_type, x.shape().dimensions),
                   {pad.operand(0), x.operand(1)}, WindowAttributes{std::move(window)}, {x.called(0)});
}

constexpr Rule kRules[] = {
    {"reduce-ones", Opcode::kReduce, ReduceOnes},
    {"reduce-reshape", Opcode::kReduce, ReduceOfReshape},
    {"reduce-transpose", Opcode::kReduce, ReduceOfTranspose},
    {"reduce-reduce", Opcode::kReduce, ReduceOfReduce},
    {"reduce-broadcast", Opcode::kReduce, ReduceOfBroadcast},
    {"reduce-window-one", Opcode::kReduceWindow, ReduceWindowOfOne},
    {"reduce-window-pad", Opcode::kReduceWindow, ReduceWindowOfPad},
};

}  // namespace

absl::Span<const Rule> ReductionRules() { return kRules; }

}  // namespace smelt::hlo
