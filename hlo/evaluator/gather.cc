#include "absl/algorithm/container.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {

// For each position of the start indices (without index_vector_dim), a slice of the operand goes to the result's offset
// dimensions.
absl::StatusOr<Value> EvaluateGather(const Call& call) {
  const auto& attributes = call.instruction.attributes<GatherAttributes>();
  const Shape& shape = call.shape();
  const Shape& operand = call.operand(0).shape();
  const Literal& indices = call.operand(1).array();
  const int64_t element_bytes = StorageBytes(shape.element_type);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  if (shape.ElementCount() == 0) return Value(std::move(result));

  const std::vector<int64_t> operand_strides = operand.Strides(), result_strides = shape.Strides(),
                             index_strides = indices.shape().Strides();
  // One slice: operand dimensions that stay, in order, are the result's offset dimensions.
  StridedCopy slice;
  size_t next_offset = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (absl::c_linear_search(attributes.collapsed_slice_dims, d) ||
        absl::c_linear_search(attributes.operand_batching_dims, d))
      continue;
    slice.sizes.push_back(attributes.slice_sizes[d]);
    slice.source_strides.push_back(operand_strides[d]);
    slice.target_strides.push_back(result_strides[attributes.offset_dims[next_offset++]]);
  }
  slice = Simplified(slice);

  // All slices: result dimensions that are no offset dimensions follow the index array's, index_vector_dim left out.
  std::vector<int64_t> batch_sizes, batch_index_strides, batch_result_strides;
  std::vector<int64_t> batch_of_index_dim(indices.shape().rank() + 1, -1);
  int64_t result_dim = 0;
  for (int64_t d = 0; d < indices.shape().rank(); ++d) {
    if (d == attributes.index_vector_dim) continue;
    while (absl::c_linear_search(attributes.offset_dims, result_dim)) ++result_dim;
    batch_of_index_dim[d] = static_cast<int64_t>(batch_sizes.size());
    batch_sizes.push_back(indices.shape().dimensions[d]);
    batch_index_strides.push_back(index_strides[d]);
    batch_result_strides.push_back(result_strides[result_dim++]);
  }
  const int64_t vector_stride =
      attributes.index_vector_dim < indices.shape().rank() ? index_strides[attributes.index_vector_dim] : 0;

  std::vector<int64_t> batch(batch_sizes.size(), 0);
  int64_t visited = 0;
  do {
    if (++visited % 65536 == 0) SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    int64_t index_offset = 0;
    slice.source_offset = slice.target_offset = 0;
    for (size_t b = 0; b < batch.size(); ++b) {
      index_offset += batch[b] * batch_index_strides[b];
      slice.target_offset += batch[b] * batch_result_strides[b];
    }
    for (size_t i = 0; i < attributes.start_index_map.size(); ++i) {
      const int64_t d = attributes.start_index_map[i];
      const int64_t start = ReadIndex(indices, index_offset + static_cast<int64_t>(i) * vector_stride);
      slice.source_offset += ClampStart(start, attributes.slice_sizes[d], operand.dimensions[d]) * operand_strides[d];
    }
    for (size_t i = 0; i < attributes.operand_batching_dims.size(); ++i) {
      const int64_t d = attributes.operand_batching_dims[i];
      slice.source_offset += batch[batch_of_index_dim[attributes.start_indices_batching_dims[i]]] * operand_strides[d];
    }
    RunSimplifiedCopy(slice, element_bytes, call.operand(0).array().raw(), result->raw());
  } while (NextIndex(batch_sizes, &batch));
  return Value(std::move(result));
}

}  // namespace smelt::hlo
