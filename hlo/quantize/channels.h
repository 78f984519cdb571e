// Walks over arrays by channel: which value of a list belongs to each element.
//
//   const std::vector<int64_t> strides = PlaceStrides({3, 3, 16, 32}, {3});
//   ForEachElement({3, 3, 16, 32}, strides, 4608, [&](int64_t i, int64_t channel) { ... });
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace smelt::hlo::quantize {

// Strides of the list's places along `dims`, row-major in the order of `dims`; 0 for other dimensions.
inline std::vector<int64_t> PlaceStrides(const std::vector<int64_t>& sizes, absl::Span<const int64_t> dims) {
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[dims[i]] = stride;
    stride *= sizes[dims[i]];
  }
  return strides;
}

// How many places there are.
inline int64_t PlaceCount(const std::vector<int64_t>& sizes, absl::Span<const int64_t> dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= sizes[d];
  return count;
}

// Calls visit(i, place) for each of `count` elements of an array, in row-major order: `place` is the sum of index times
// stride.
template <typename Visit>
void ForEachElement(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t count,
                    const Visit& visit) {
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t place = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(i, place);
    for (size_t d = sizes.size(); d-- > 0;) {
      place += strides[d];
      if (++index[d] < sizes[d]) break;
      place -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

}  // namespace smelt::hlo::quantize
