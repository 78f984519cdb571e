#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "hlo/passes/algebra/dimension_groups.h"
#include "hlo/passes/algebra/rule.h"
#include "hlo/rewrite/constants.h"

namespace smelt::hlo {
namespace {

using Dimensions = std::vector<int64_t>;

const Dimensions& DimensionsOf(const Instruction& x) { return x.attributes<DimensionsAttributes>().dimensions; }
bool IsSorted(const Dimensions& d) { return std::is_sorted(d.begin(), d.end()); }

// A constant with one value everywhere is that scalar, broadcast: rules, common subexpressions and kernels see scalars.
Instruction* UniformConstant(Instruction& x, GraphBuilder& build) {
  const Literal* literal = KnownLiteral(x);
  if (literal == nullptr || literal->element_count() <= 1 || !literal->IsUniform()) return nullptr;
  return build.BroadcastScalar(build.Constant(ElementLiteral(*literal, 0)), x.shape());
}

Instruction* ReshapeToSameShape(Instruction& x, GraphBuilder&) {
  return x.shape().SameDimensions(x.operand(0)->shape()) ? x.operand(0) : nullptr;
}

Instruction* ReshapeOfReshape(Instruction& x, GraphBuilder& build) {
  if (x.operand(0)->opcode() != Opcode::kReshape) return nullptr;
  return build.Reshape(x.operand(0)->operand(0), x.shape().dimensions);
}

Instruction* ReshapeOfConstant(Instruction& x, GraphBuilder& build) {
  const Literal* literal = KnownLiteral(*x.operand(0));
  if (literal == nullptr || (x.operand(0)->user_count() > 1 && literal->element_count() > 4096)) return nullptr;
  Literal reshaped = *literal;
  reshaped.Reshape(x.shape().dimensions);
  return build.Constant(std::move(reshaped));
}

// reshape(broadcast(y)) -> broadcast(reshape(y)) where the reshape does not mix y's dimensions with the others. The
// reshape ends nearer to the inputs, on fewer elements.
Instruction* ReshapeOfBroadcast(Instruction& x, GraphBuilder& build) {
  Instruction& broadcast = *x.operand(0);
  if (broadcast.opcode() != Opcode::kBroadcast || !IsSorted(DimensionsOf(broadcast))) return nullptr;
  Instruction* y = broadcast.operand(0);
  if (y->shape().IsScalar()) return build.BroadcastScalar(y, x.shape());
  if (broadcast.user_count() > 1) return nullptr;
  const Dimensions& from = broadcast.shape().dimensions;
  const std::vector<DimensionGroup> groups = GroupDimensions(from, x.shape().dimensions);
  if (groups.empty()) return nullptr;
  Dimensions dimensions, mapping;
  for (const DimensionGroup& group : groups) {
    const auto mapped =
        HoldsForGroup(group, from, [&](int64_t d) { return absl::c_linear_search(DimensionsOf(broadcast), d); });
    if (!mapped) return nullptr;
    if (!*mapped) continue;
    for (int64_t d = group.to_begin; d < group.to_end; ++d) {
      dimensions.push_back(x.shape().dimensions[d]);
      mapping.push_back(d);
    }
  }
  return build.Broadcast(build.Reshape(y, std::move(dimensions)), x.shape().dimensions, std::move(mapping));
}

Instruction* ReshapeOfIota(Instruction& x, GraphBuilder& build) {
  const Instruction& iota = *x.operand(0);
  if (iota.opcode() != Opcode::kIota || !OnlyOnesDiffer(iota.shape().dimensions, x.shape().dimensions)) return nullptr;
  const int64_t dimension = iota.attributes<IotaAttributes>().dimension;
  if (iota.shape().dimensions[dimension] == 1) return nullptr;
  for (const DimensionGroup& group : GroupDimensions(iota.shape().dimensions, x.shape().dimensions)) {
    if (dimension < group.from_begin || dimension >= group.from_end) continue;
    for (int64_t d = group.to_begin; d < group.to_end; ++d) {
      if (x.shape().dimensions[d] == 1) continue;
      return build.Add(Opcode::kIota, Shape::Array(x.shape().element_type, x.shape().dimensions), {},
                       IotaAttributes{d});
    }
  }
  return nullptr;
}

Instruction* IotaOfOne(Instruction& x, GraphBuilder& build) {
  if (x.shape().dimensions[x.attributes<IotaAttributes>().dimension] != 1) return nullptr;
  return build.BroadcastScalar(build.Scalar(x.shape().element_type, 0), x.shape());
}

Instruction* BroadcastToSameShape(Instruction& x, GraphBuilder&) {
  return x.shape().SameDimensions(x.operand(0)->shape()) && IsSorted(DimensionsOf(x)) ? x.operand(0) : nullptr;
}

Instruction* BroadcastOfBroadcast(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kBroadcast) return nullptr;
  Dimensions mapping;
  for (int64_t d : DimensionsOf(inner)) mapping.push_back(DimensionsOf(x)[d]);
  return build.Broadcast(inner.operand(0), x.shape().dimensions, std::move(mapping));
}

// A broadcast reads an operand without dimensions of size 1: those say nothing, and hide that two broadcasts are equal.
Instruction* BroadcastWithoutOnes(Instruction& x, GraphBuilder& build) {
  Instruction* y = x.operand(0);
  const Dimensions& from = y->shape().dimensions;
  if (!absl::c_linear_search(from, 1)) return nullptr;
  Dimensions mapping;
  for (int64_t d = 0; d < y->shape().rank(); ++d) {
    if (from[d] != 1) mapping.push_back(DimensionsOf(x)[d]);
  }
  return build.Broadcast(build.Reshape(y, WithoutOnes(from)), x.shape().dimensions, std::move(mapping));
}

// A broadcast that adds only dimensions of size 1 moves nothing.
Instruction* BroadcastThatReshapes(Instruction& x, GraphBuilder& build) {
  if (!IsSorted(DimensionsOf(x)) || x.operand(0)->shape().ElementCount() != x.shape().ElementCount()) return nullptr;
  return build.Reshape(x.operand(0), x.shape().dimensions);
}

Instruction* TransposeToSameOrder(Instruction& x, GraphBuilder&) {
  return IsSorted(DimensionsOf(x)) ? x.operand(0) : nullptr;
}

Instruction* TransposeOfTranspose(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kTranspose) return nullptr;
  Dimensions permutation;
  for (int64_t d : DimensionsOf(x)) permutation.push_back(DimensionsOf(inner)[d]);
  return build.Transpose(inner.operand(0), std::move(permutation));
}

// Where only dimensions of size 1 change places, nothing moves.
Instruction* TransposeThatReshapes(Instruction& x, GraphBuilder& build) {
  int64_t last = -1;
  for (int64_t d : DimensionsOf(x)) {
    if (x.operand(0)->shape().dimensions[d] == 1) continue;
    if (d < last) return nullptr;
    last = d;
  }
  return build.Reshape(x.operand(0), x.shape().dimensions);
}

Instruction* TransposeOfIota(Instruction& x, GraphBuilder& build) {
  const Instruction& iota = *x.operand(0);
  if (iota.opcode() != Opcode::kIota) return nullptr;
  const int64_t dimension = InversePermutation(DimensionsOf(x))[iota.attributes<IotaAttributes>().dimension];
  return build.Add(Opcode::kIota, Shape::Array(x.shape().element_type, x.shape().dimensions), {},
                   IotaAttributes{dimension});
}

// transpose(broadcast(y)) -> broadcast(y) into other dimensions; y itself is transposed where its own order changes.
Instruction* TransposeOfBroadcast(Instruction& x, GraphBuilder& build) {
  Instruction& broadcast = *x.operand(0);
  if (broadcast.opcode() != Opcode::kBroadcast) return nullptr;
  Instruction* y = broadcast.operand(0);
  const Dimensions position = InversePermutation(DimensionsOf(x));
  Dimensions mapping;
  for (int64_t d : DimensionsOf(broadcast)) mapping.push_back(position[d]);
  if (IsSorted(mapping)) return build.Broadcast(y, x.shape().dimensions, std::move(mapping));
  if (broadcast.user_count() > 1) return nullptr;
  Dimensions order(mapping.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return mapping[a] < mapping[b]; });
  std::sort(mapping.begin(), mapping.end());
  return build.Broadcast(build.Transpose(y, std::move(order)), x.shape().dimensions, std::move(mapping));
}

// transpose(dot(a, b)) -> dot(b, a) where the transpose exchanges a's and b's free dimensions and keeps the batch.
Instruction* TransposeOfDot(Instruction& x, GraphBuilder& build) {
  Instruction& dot = *x.operand(0);
  if (dot.opcode() != Opcode::kDot || dot.user_count() > 1) return nullptr;
  // operand_precision={a,b} and its kin name the operands in order: such a dot keeps its transpose.
  if (MetadataOf(dot).size() != dot.raw_attributes().size()) return nullptr;
  const DotAttributes& attributes = dot.attributes<DotAttributes>();
  const int64_t batch = static_cast<int64_t>(attributes.lhs_batch.size());
  const int64_t contracted = static_cast<int64_t>(attributes.lhs_contracting.size());
  const int64_t lhs_free = dot.operand(0)->shape().rank() - batch - contracted;
  const int64_t rhs_free = dot.operand(1)->shape().rank() - batch - contracted;
  Dimensions exchange;
  for (int64_t d = 0; d < batch; ++d) exchange.push_back(d);
  for (int64_t d = 0; d < rhs_free; ++d) exchange.push_back(batch + lhs_free + d);
  for (int64_t d = 0; d < lhs_free; ++d) exchange.push_back(batch + d);
  if (DimensionsOf(x) != exchange) return nullptr;
  DotAttributes exchanged = attributes;
  std::swap(exchanged.lhs_batch, exchanged.rhs_batch);
  std::swap(exchanged.lhs_contracting, exchanged.rhs_contracting);
  return build.Add(Opcode::kDot, Shape::Array(x.shape().element_type, x.shape().dimensions),
                   {dot.operand(1), dot.operand(0)}, exchanged);
}

// TensorFlow's top-k says of its results that all of them is there.
Instruction* DimensionSizeOfAll(Instruction& x, GraphBuilder&) {
  Instruction* array = x.operand(0);
  const Literal* size = KnownLiteral(*x.operand(1));
  if (size == nullptr || array->shape().IsDynamic()) return nullptr;
  return size->GetInteger(0) == array->shape().dimensions[DimensionsOf(x)[0]] ? array : nullptr;
}

constexpr Rule kRules[] = {
    {"constant-uniform", Opcode::kConstant, UniformConstant},
    {"reshape-same", Opcode::kReshape, ReshapeToSameShape},
    {"reshape-reshape", Opcode::kReshape, ReshapeOfReshape},
    {"reshape-constant", Opcode::kReshape, ReshapeOfConstant},
    {"reshape-broadcast", Opcode::kReshape, ReshapeOfBroadcast},
    {"reshape-iota", Opcode::kReshape, ReshapeOfIota},
    {"iota-one", Opcode::kIota, IotaOfOne},
    {"broadcast-same", Opcode::kBroadcast, BroadcastToSameShape},
    {"broadcast-broadcast", Opcode::kBroadcast, BroadcastOfBroadcast},
    {"broadcast-reshapes", Opcode::kBroadcast, BroadcastThatReshapes},
    {"broadcast-ones", Opcode::kBroadcast, BroadcastWithoutOnes},
    {"transpose-same", Opcode::kTranspose, TransposeToSameOrder},
    {"transpose-transpose", Opcode::kTranspose, TransposeOfTranspose},
    {"transpose-reshapes", Opcode::kTranspose, TransposeThatReshapes},
    {"transpose-iota", Opcode::kTranspose, TransposeOfIota},
    {"transpose-broadcast", Opcode::kTranspose, TransposeOfBroadcast},
    {"transpose-dot", Opcode::kTranspose, TransposeOfDot},
    {"set-dimension-size-all", Opcode::kSetDimensionSize, DimensionSizeOfAll},
};

}  // namespace

absl::Span<const Rule> ShapeRules() { return kRules; }

}  // namespace smelt::hlo
