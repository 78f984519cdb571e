// Stable sorts along one dimension, of one array or of several together.
#pragma once

#include <memory>
#include <vector>

#include "runtime/native/element_type.h"
#include "runtime/native/order_keys.h"
#include "runtime/native_operation.h"

namespace smelt::runtime::native {

struct SortKey {
  int operand = 0;
  KeyOrder order;
};

struct SortPlan {
  std::vector<ElementType> operands;  // any types; keys are not complex
  std::vector<int64_t> dimensions;    // of all operands
  int64_t dimension = 0;              // that is sorted, fewer than 2^32 elements
  std::vector<SortKey> keys;          // the first decides, the next among equals
  bool ties_reversed = false;         // equal elements end up in reversed order, as comparing with <= makes them
  // The first key's floats are compared as such, not in total order: a line that holds NaN is then sorted by merging,
  // where a comparison with NaN is false. One key only.
  bool partial_order = false;
};

// inputs and outputs: the arrays.
std::unique_ptr<NativeOperation> MakeSort(const SortPlan& plan);

struct TopKPlan {
  ElementType type = ElementType::kF32;  // not complex
  ElementType index_type = ElementType::kS32;
  int64_t rows = 1, columns = 1, k = 1;  // k <= columns < 2^32
  bool largest = true;
};

// inputs: rows; outputs: the k largest or smallest of each row, best first, equal ones in order of their index; and
// their indices. Floats in total order.
std::unique_ptr<NativeOperation> MakeTopK(const TopKPlan& plan);

}  // namespace smelt::runtime::native
