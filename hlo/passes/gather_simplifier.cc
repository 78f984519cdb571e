#include "hlo/passes/gather_simplifier.h"

#include <vector>

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

Instruction* AsDynamicSlice(Instruction& gather, GraphBuilder& build) {
  Instruction* table = gather.operand(0);
  Instruction* indices = gather.operand(1);
  const GatherAttributes& attributes = gather.attributes<GatherAttributes>();
  if (indices->shape().IsDynamic() || table->shape().IsDynamic() || gather.shape().IsDynamic()) return nullptr;
  if (indices->shape().ElementCount() != 1 || attributes.start_index_map.size() != 1) return nullptr;
  if (!attributes.operand_batching_dims.empty() || gather.shape().ElementCount() == 0) return nullptr;
  Instruction* index = build.Reshape(indices, {});
  Instruction* zero = nullptr;
  std::vector<Instruction*> operands = {table};
  for (int64_t d = 0; d < table->shape().rank(); ++d) {
    if (d == attributes.start_index_map[0]) {
      operands.push_back(index);
    } else {
      if (zero == nullptr) zero = build.Scalar(index->shape().element_type, 0);
      operands.push_back(zero);
    }
  }
  Instruction* slice =
      build.Add(Opcode::kDynamicSlice, Shape::Array(gather.shape().element_type, attributes.slice_sizes),
                std::move(operands), DynamicSliceAttributes{attributes.slice_sizes});
  // With one slice, offset dimensions in their order are all that the result has beside ones.
  return build.Reshape(slice, gather.shape().dimensions);
}

}  // namespace

absl::StatusOr<bool> SimplifyGathers(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* gather : computation->Instructions()) {
      if (gather->opcode() != Opcode::kGather) continue;
      if (gather->HasControlEdges()) continue;
      GraphBuilder build(*gather);
      Instruction* slice = AsDynamicSlice(*gather, build);
      if (slice == nullptr) continue;
      slice->shape().layout = gather->shape().layout;
      gather->ReplaceAllUsesWith(slice);
      computation->Remove(gather);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
