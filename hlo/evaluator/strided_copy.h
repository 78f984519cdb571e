// Moves elements between arrays by strides: the one engine of broadcast, transpose, slice, reverse, pad, concatenate
// and layout changes.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace smelt::hlo {

// For every index i of `sizes`: target[target_offset + sum i*target_strides] = source[source_offset + sum
// i*source_strides]. Offsets and strides count elements of `element_bytes` (1, 2, 4, 8 or 16); strides may be zero or
// negative. Any rank; empty sizes copy one element, a size of zero copies nothing. Source and target must not overlap.
struct StridedCopy {
  std::vector<int64_t> sizes;
  std::vector<int64_t> source_strides;
  std::vector<int64_t> target_strides;
  int64_t source_offset = 0;
  int64_t target_offset = 0;
};

void RunStridedCopy(const StridedCopy& copy, int64_t element_bytes, const void* source, void* target);

// The same with dimensions of size one dropped, and neighbours that both sides walk in one stride merged. Empty sizes
// when one element remains.
StridedCopy Simplified(const StridedCopy& copy);

// Does what RunStridedCopy does, for a copy that is Simplified already and has no size of zero: for many small copies
// of one form.
void RunSimplifiedCopy(const StridedCopy& copy, int64_t element_bytes, const void* source, void* target);

}  // namespace smelt::hlo
