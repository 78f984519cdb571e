#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/scalar_function.h"

namespace smelt::hlo {
namespace {

bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Where one window of the updates goes: its dimensions with their strides in the updates and in the operand, the rows
// last.
struct WindowWalk {
  std::vector<int64_t> sizes;
  std::vector<int64_t> update_strides;
  std::vector<int64_t> operand_strides;
  int64_t row = 1;  // elements of the innermost dimension that both sides have in one piece
};

}  // namespace

// For each position of the scatter indices, a window of the updates is combined with the operand, in row-major order of
// the positions. A window that does not fit inside the operand is left out.
absl::StatusOr<Value> EvaluateScatter(const Call& call) {
  const auto& attributes = call.instruction.attributes<ScatterAttributes>();
  const size_t arrays = call.operands.size() / 2;
  const Shape operand = call.operand(0).shape();
  const std::vector<int64_t> operand_sizes =
      call.operand(0).runtime_sizes() != nullptr ? *call.operand(0).runtime_sizes() : operand.dimensions;
  std::vector<int64_t> update_sizes = call.operand(static_cast<int64_t>(arrays) + 1).shape().dimensions;
  if (const auto* sizes = call.operand(static_cast<int64_t>(arrays) + 1).runtime_sizes()) update_sizes = *sizes;
  const Literal& indices = call.operand(static_cast<int64_t>(arrays)).array();
  const Shape& updates = call.operand(static_cast<int64_t>(arrays) + 1).shape();
  const std::vector<int64_t> operand_strides = operand.Strides(), update_strides = updates.Strides(),
                             index_strides = indices.shape().Strides();

  std::vector<std::shared_ptr<Literal>> results;
  std::vector<char*> result_data;
  std::vector<const char*> update_data;
  std::vector<int64_t> bytes;
  for (size_t a = 0; a < arrays; ++a) {
    Value& input = call.operand(static_cast<int64_t>(a));
    std::shared_ptr<Literal> result;
    if (input.IsUnique()) {
      result = input.TakeArray();
    } else {
      SMELT_ASSIGN_OR_RETURN(result, call.evaluation.NewArray(input.shape()));
      std::memcpy(result->raw(), input.array().raw(), result->byte_size());
    }
    result_data.push_back(static_cast<char*>(result->raw()));
    update_data.push_back(call.operand(static_cast<int64_t>(arrays + 1 + a)).data<char>());
    bytes.push_back(StorageBytes(result->shape().element_type));
    results.push_back(std::move(result));
  }

  // Operand dimensions that are neither inserted nor batching take the update window dimensions in order.
  WindowWalk walk;
  std::vector<int64_t> window_size(operand.rank(), 1);
  size_t next_window = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (Contains(attributes.inserted_window_dims, d) || Contains(attributes.input_batching_dims, d)) continue;
    const int64_t u = attributes.update_window_dims[next_window++];
    window_size[d] = update_sizes[u];
    if (window_size[d] == 1) continue;
    walk.sizes.push_back(window_size[d]);
    walk.update_strides.push_back(update_strides[u]);
    walk.operand_strides.push_back(operand_strides[d]);
  }
  while (!walk.sizes.empty() && walk.update_strides.back() == walk.row && walk.operand_strides.back() == walk.row) {
    walk.row *= walk.sizes.back();
    walk.sizes.pop_back();
    walk.update_strides.pop_back();
    walk.operand_strides.pop_back();
  }

  // Update dimensions that are no window dimensions follow the index array's, index_vector_dim left out.
  std::vector<int64_t> batch_sizes, batch_index_strides, batch_update_strides;
  std::vector<int64_t> batch_of_index_dim(indices.shape().rank() + 1, -1);
  int64_t update_dim = 0;
  for (int64_t d = 0; d < indices.shape().rank(); ++d) {
    if (d == attributes.index_vector_dim) continue;
    while (Contains(attributes.update_window_dims, update_dim)) ++update_dim;
    batch_of_index_dim[d] = static_cast<int64_t>(batch_sizes.size());
    batch_sizes.push_back(update_sizes[update_dim]);
    batch_index_strides.push_back(index_strides[d]);
    batch_update_strides.push_back(update_strides[update_dim++]);
  }
  const int64_t vector_stride =
      attributes.index_vector_dim < indices.shape().rank() ? index_strides[attributes.index_vector_dim] : 0;

  ScalarFunction combine(call.evaluation, *call.instruction.called(0), call.step.programs[0].get());
  std::vector<const void*> parameters(2 * arrays);
  std::vector<void*> targets(arrays);
  std::vector<int64_t> batch(batch_sizes.size(), 0), position(walk.sizes.size());
  std::vector<int64_t> start(operand.rank());
  int64_t visited = 0;
  if (!HasZero(update_sizes)) {
    do {
      if (++visited % 4096 == 0) SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
      int64_t index_offset = 0, update_base = 0, operand_base = 0;
      for (size_t b = 0; b < batch.size(); ++b) {
        index_offset += batch[b] * batch_index_strides[b];
        update_base += batch[b] * batch_update_strides[b];
      }
      std::fill(start.begin(), start.end(), 0);
      for (size_t i = 0; i < attributes.scatter_dims_to_operand_dims.size(); ++i) {
        start[attributes.scatter_dims_to_operand_dims[i]] =
            ReadIndex(indices, index_offset + static_cast<int64_t>(i) * vector_stride);
      }
      for (size_t i = 0; i < attributes.input_batching_dims.size(); ++i) {
        start[attributes.input_batching_dims[i]] =
            batch[batch_of_index_dim[attributes.scatter_indices_batching_dims[i]]];
      }
      bool inside = true;
      for (int64_t d = 0; d < operand.rank(); ++d) {
        inside = inside && start[d] >= 0 && start[d] <= operand_sizes[d] - window_size[d];
        if (inside) operand_base += start[d] * operand_strides[d];
      }
      if (!inside) continue;
      std::fill(position.begin(), position.end(), 0);
      do {
        int64_t update_offset = update_base, operand_offset = operand_base;
        for (size_t w = 0; w < position.size(); ++w) {
          update_offset += position[w] * walk.update_strides[w];
          operand_offset += position[w] * walk.operand_strides[w];
        }
        for (size_t a = 0; a < arrays; ++a) {
          parameters[a] = targets[a] = result_data[a] + operand_offset * bytes[a];
          parameters[arrays + a] = update_data[a] + update_offset * bytes[a];
        }
        SMELT_RETURN_IF_ERROR(combine.Apply(parameters, targets, walk.row));
      } while (NextIndex(walk.sizes, &position));
    } while (NextIndex(batch_sizes, &batch));
  }
  if (!call.shape().IsTuple()) {
    Value value(std::move(results[0]));
    if (operand_sizes != operand.dimensions) value.set_runtime_sizes(operand_sizes);
    return value;
  }
  std::vector<Value> elements;
  for (std::shared_ptr<Literal>& result : results) elements.push_back(Value(std::move(result)));
  return Value(std::move(elements));
}

}  // namespace smelt::hlo
