#include "hlo/passes/transpose_folding.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "hlo/rewrite/graph_builder.h"
#include "hlo/rewrite/rewrite_each.h"

namespace smelt::hlo {
namespace {

// Rewrites dimension numbers of a transposed operand to those of the transpose's operand; false where the order of the
// free dimensions would change.
bool Absorb(const std::vector<int64_t>& permutation, std::vector<int64_t>* contracting, std::vector<int64_t>* batch) {
  int64_t last = -1;
  for (size_t d = 0; d < permutation.size(); ++d) {
    if (absl::c_linear_search(*contracting, d) || absl::c_linear_search(*batch, d)) continue;
    if (permutation[d] < last) return false;
    last = permutation[d];
  }
  for (std::vector<int64_t>* list : {contracting, batch}) {
    for (int64_t& d : *list) d = permutation[d];
  }
  return true;
}

// Whether elements that lie beside each other belong to different products of a batch.
bool InterleavesBatch(const Shape& shape, const std::vector<int64_t>& batch) {
  const int64_t last = shape.rank() - 1;
  return last >= 0 && shape.dimensions[last] > 1 && absl::c_linear_search(batch, last);
}

bool FoldInto(Instruction& dot) {
  bool changed = false;
  for (int64_t side = 0; side < 2; ++side) {
    Instruction& transpose = *dot.operand(side);
    if (transpose.opcode() != Opcode::kTranspose || transpose.shape().IsDynamic()) continue;
    if (transpose.HasControlEdges()) continue;
    DotAttributes attributes = dot.attributes<DotAttributes>();
    std::vector<int64_t>& batch = side == 0 ? attributes.lhs_batch : attributes.rhs_batch;
    const bool interleaved = InterleavesBatch(transpose.shape(), batch);
    const bool absorbed = Absorb(transpose.attributes<DimensionsAttributes>().dimensions,
                                 side == 0 ? &attributes.lhs_contracting : &attributes.rhs_contracting, &batch);
    if (!absorbed || (!interleaved && InterleavesBatch(transpose.operand(0)->shape(), batch))) continue;
    dot.mutable_attributes<DotAttributes>() = std::move(attributes);
    dot.ReplaceOperand(side, transpose.operand(0));
    RemoveIfDead(&transpose);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> FoldTransposes(Module& module) { return RewriteEach(module, Opcode::kDot, FoldInto); }

}  // namespace smelt::hlo
