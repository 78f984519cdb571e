// Inside the evaluator: walking over all positions of a box in row-major order, and reading index operands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "hlo/literal.h"

namespace smelt::hlo {

// An index operand's value; an unsigned one beyond int64 becomes the largest int64, so that clamping puts it at the end
// and not at the start.
inline int64_t ReadIndex(const Literal& literal, int64_t at) {
  const int64_t value = literal.GetInteger(at);
  return value < 0 && IsUnsigned(literal.shape().element_type) ? std::numeric_limits<int64_t>::max() : value;
}

// Start of a slice of `size` in a dimension of `bound`, moved inside.
inline int64_t ClampStart(int64_t start, int64_t size, int64_t bound) {
  return std::max<int64_t>(0, std::min(start, bound - size));
}

// Advances `index` within `sizes`, last dimension fastest; false after the last position. With no dimensions there is
// one position.
inline bool NextIndex(const std::vector<int64_t>& sizes, std::vector<int64_t>* index) {
  for (size_t d = sizes.size(); d-- > 0;) {
    if (++(*index)[d] < sizes[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

inline bool HasZero(const std::vector<int64_t>& sizes) {
  return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
}

}  // namespace smelt::hlo
