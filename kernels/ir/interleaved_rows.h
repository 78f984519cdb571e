// Rows of a few elements that code reads as whole vectors and takes apart in registers, into vectors of all first
// elements, of all second ones, and so on. Templates count on it, and targets' code does it.
#pragma once

#include <cstdint>

namespace smelt::kernels::ir {

// Elements of the longest rows that are read so.
inline constexpr int64_t kLongestInterleavedRow = 24;

// How many ways rows of so many elements, two or more, are taken apart at first. A row of p * q elements is taken apart
// p ways, and then what each gives q ways: six vectors take 18 shuffles of two and not 30.
inline int64_t WaysApart(int64_t elements) {
  int64_t ways = 2;
  while (elements % ways != 0) ++ways;
  return ways;
}

// Shuffles of two vectors for each vector of such rows.
inline int64_t ShufflesApart(int64_t elements) {
  int64_t shuffles = 0;
  for (; elements > 1; elements /= WaysApart(elements)) shuffles += WaysApart(elements) - 1;
  return shuffles;
}

}  // namespace smelt::kernels::ir
