// Windows of updates combined with an array at positions that data says, in place.
#pragma once

#include <memory>
#include <vector>

#include "runtime/native/element_type.h"
#include "runtime/native_operation.h"

namespace smelt::runtime::native {

enum class Combiner : uint8_t { kReplace, kAdd, kMultiply, kMinimum, kMaximum, kAnd, kOr, kXor };

// Dimension numbers as HLO's scatter has them.
struct ScatterPlan {
  struct Array {
    ElementType type;
    Combiner combiner;
  };
  std::vector<Array> arrays;     // all of `operand`, with updates of `updates`
  std::vector<int64_t> operand;  // dimensions
  std::vector<int64_t> updates;
  std::vector<int64_t> indices;
  ElementType index_type = ElementType::kS32;
  std::vector<int64_t> update_window_dims;
  std::vector<int64_t> inserted_window_dims;
  std::vector<int64_t> scatter_dims_to_operand_dims;
  std::vector<int64_t> input_batching_dims;
  std::vector<int64_t> scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool unique_indices = false;
};

// inputs: the indices, then the updates of each array. outputs: the arrays, which hold what they are combined with.
// Updates meet an element in row-major order of the indices, on every number of threads. A window that does not fit
// inside the array is left out. Sums and products of 16-bit floats round each time; the larger of two zeros is the
// positive one, and NaN wins.
std::unique_ptr<NativeOperation> MakeScatter(const ScatterPlan& plan);

// Whether a combiner has a meaning for a type.
bool Combines(Combiner combiner, ElementType type);

}  // namespace smelt::runtime::native
