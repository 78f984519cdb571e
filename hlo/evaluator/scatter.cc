#include <algorithm>
#include <cstring>

#include "absl/algorithm/container.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/scalar_function.h"

namespace smelt::hlo {
namespace {

// How one window of the updates goes into the operand.
struct WindowWalk {
  std::vector<int64_t> extents;  // by dimension of the operand
  // The dimensions longer than 1 with their strides in the updates and in the operand, without the rows.
  std::vector<int64_t> sizes;
  std::vector<int64_t> update_strides;
  std::vector<int64_t> operand_strides;
  int64_t row = 1;  // elements of the innermost dimensions that both sides have in one piece
};

// The windows, by position of the scatter indices.
struct WindowList {
  std::vector<int64_t> sizes;
  std::vector<int64_t> index_strides;
  std::vector<int64_t> update_strides;
  std::vector<int64_t> of_index_dimension;  // position in `sizes`; -1 for index_vector_dim
};

// For each position of the scatter indices, a window of the updates is combined with the operand, in row-major order of
// the positions. A window that does not fit inside the operand is left out.
class Scatter {
 public:
  explicit Scatter(const Call& call)
      : call_(call),
        attributes_(call.instruction.attributes<ScatterAttributes>()),
        arrays_(static_cast<int64_t>(call.operands.size() / 2)),
        operand_(call.operand(0).shape()),
        operand_sizes_(SizesOf(call.operand(0))),
        update_sizes_(SizesOf(call.operand(arrays_ + 1))),
        operand_strides_(operand_.Strides()),
        update_strides_(call.operand(arrays_ + 1).shape().Strides()),
        indices_(call.operand(arrays_).array()) {
    MakeWindow();
    MakeList();
  }

  absl::StatusOr<Value> Run() {
    SMELT_RETURN_IF_ERROR(MakeResults());
    if (!HasZero(update_sizes_)) SMELT_RETURN_IF_ERROR(CombineAll());
    if (!call_.shape().IsTuple()) {
      Value value(std::move(results_[0]));
      if (operand_sizes_ != operand_.dimensions) value.set_runtime_sizes(operand_sizes_);
      return value;
    }
    std::vector<Value> elements;
    for (std::shared_ptr<Literal>& result : results_) elements.push_back(Value(std::move(result)));
    return Value(std::move(elements));
  }

 private:
  static std::vector<int64_t> SizesOf(const Value& value) {
    return value.runtime_sizes() != nullptr ? *value.runtime_sizes() : value.shape().dimensions;
  }

  // Operand dimensions that are neither inserted nor batching take the update window dimensions in order.
  void MakeWindow() {
    window_.extents.assign(operand_.rank(), 1);
    size_t next = 0;
    for (int64_t d = 0; d < operand_.rank(); ++d) {
      if (absl::c_linear_search(attributes_.inserted_window_dims, d) ||
          absl::c_linear_search(attributes_.input_batching_dims, d))
        continue;
      const int64_t u = attributes_.update_window_dims[next++];
      window_.extents[d] = update_sizes_[u];
      if (update_sizes_[u] == 1) continue;
      window_.sizes.push_back(update_sizes_[u]);
      window_.update_strides.push_back(update_strides_[u]);
      window_.operand_strides.push_back(operand_strides_[d]);
    }
    while (!window_.sizes.empty() && window_.update_strides.back() == window_.row &&
           window_.operand_strides.back() == window_.row) {
      window_.row *= window_.sizes.back();
      window_.sizes.pop_back();
      window_.update_strides.pop_back();
      window_.operand_strides.pop_back();
    }
  }

  // Update dimensions that are no window dimensions follow the index array's, index_vector_dim left out.
  void MakeList() {
    const std::vector<int64_t> strides = indices_.shape().Strides();
    const int64_t rank = indices_.shape().rank();
    list_.of_index_dimension.assign(rank + 1, -1);
    int64_t u = 0;
    for (int64_t d = 0; d < rank; ++d) {
      if (d == attributes_.index_vector_dim) continue;
      while (absl::c_linear_search(attributes_.update_window_dims, u)) ++u;
      list_.of_index_dimension[d] = static_cast<int64_t>(list_.sizes.size());
      list_.sizes.push_back(update_sizes_[u]);
      list_.index_strides.push_back(strides[d]);
      list_.update_strides.push_back(update_strides_[u++]);
    }
    index_vector_stride_ = attributes_.index_vector_dim < rank ? strides[attributes_.index_vector_dim] : 0;
  }

  absl::Status MakeResults() {
    for (int64_t a = 0; a < arrays_; ++a) {
      Value& input = call_.operand(a);
      std::shared_ptr<Literal> result;
      if (input.IsUnique()) {
        result = input.TakeArray();
      } else {
        SMELT_ASSIGN_OR_RETURN(result, call_.evaluation.NewArray(input.shape()));
        std::memcpy(result->raw(), input.array().raw(), result->byte_size());
      }
      result_data_.push_back(static_cast<char*>(result->raw()));
      update_data_.push_back(call_.operand(arrays_ + 1 + a).data<char>());
      bytes_.push_back(StorageBytes(result->shape().element_type));
      results_.push_back(std::move(result));
    }
    return absl::OkStatus();
  }

  absl::Status CombineAll() {
    ScalarFunction combine(call_.evaluation, *call_.instruction.called(0), call_.step.programs[0].get());
    std::vector<int64_t> at(list_.sizes.size(), 0), start(operand_.rank());
    int64_t visited = 0;
    do {
      if (++visited % 4096 == 0) SMELT_RETURN_IF_ERROR(call_.evaluation.CheckLimits());
      int64_t index_offset = 0, update_offset = 0, operand_offset = 0;
      for (size_t b = 0; b < at.size(); ++b) {
        index_offset += at[b] * list_.index_strides[b];
        update_offset += at[b] * list_.update_strides[b];
      }
      ReadStart(at, index_offset, &start);
      bool inside = true;
      for (int64_t d = 0; d < operand_.rank(); ++d) {
        inside = inside && start[d] >= 0 && start[d] <= operand_sizes_[d] - window_.extents[d];
        if (inside) operand_offset += start[d] * operand_strides_[d];
      }
      if (inside) SMELT_RETURN_IF_ERROR(CombineWindow(update_offset, operand_offset, combine));
    } while (NextIndex(list_.sizes, &at));
    return absl::OkStatus();
  }

  // Where the window of this position begins in the operand.
  void ReadStart(const std::vector<int64_t>& at, int64_t index_offset, std::vector<int64_t>* start) const {
    std::fill(start->begin(), start->end(), 0);
    for (size_t i = 0; i < attributes_.scatter_dims_to_operand_dims.size(); ++i) {
      (*start)[attributes_.scatter_dims_to_operand_dims[i]] =
          ReadIndex(indices_, index_offset + static_cast<int64_t>(i) * index_vector_stride_);
    }
    for (size_t i = 0; i < attributes_.input_batching_dims.size(); ++i) {
      (*start)[attributes_.input_batching_dims[i]] =
          at[list_.of_index_dimension[attributes_.scatter_indices_batching_dims[i]]];
    }
  }

  // Row by row, for windows that begin at these elements of the updates and of the operand.
  absl::Status CombineWindow(int64_t update_begin, int64_t operand_begin, ScalarFunction& combine) {
    parameters_.resize(2 * arrays_);
    targets_.resize(arrays_);
    position_.assign(window_.sizes.size(), 0);
    do {
      int64_t update_offset = update_begin, operand_offset = operand_begin;
      for (size_t w = 0; w < position_.size(); ++w) {
        update_offset += position_[w] * window_.update_strides[w];
        operand_offset += position_[w] * window_.operand_strides[w];
      }
      for (int64_t a = 0; a < arrays_; ++a) {
        parameters_[a] = targets_[a] = result_data_[a] + operand_offset * bytes_[a];
        parameters_[arrays_ + a] = update_data_[a] + update_offset * bytes_[a];
      }
      SMELT_RETURN_IF_ERROR(combine.Apply(parameters_, targets_, window_.row));
    } while (NextIndex(window_.sizes, &position_));
    return absl::OkStatus();
  }

  const Call& call_;
  const ScatterAttributes& attributes_;
  const int64_t arrays_;
  const Shape operand_;
  const std::vector<int64_t> operand_sizes_, update_sizes_, operand_strides_, update_strides_;
  const Literal& indices_;
  WindowWalk window_;
  WindowList list_;
  int64_t index_vector_stride_ = 0;
  // One entry an array:
  std::vector<std::shared_ptr<Literal>> results_;
  std::vector<char*> result_data_;
  std::vector<const char*> update_data_;
  std::vector<int64_t> bytes_;
  // What is kept from window to window, so that nothing is allocated for each:
  std::vector<const void*> parameters_;
  std::vector<void*> targets_;
  std::vector<int64_t> position_;
};

}  // namespace

absl::StatusOr<Value> EvaluateScatter(const Call& call) { return Scatter(call).Run(); }

}  // namespace smelt::hlo
