// How a reshape regroups dimensions: runs of input dimensions that became runs of output dimensions.
//
//   GroupDimensions({2, 3, 4, 5}, {6, 20})   // {2, 3 -> 6}, {4, 5 -> 20}
//   GroupDimensions({8, 1, 3}, {8, 3})       // {8, 1 -> 8}, {3 -> 3}
//
// Inside a group elements are shuffled between dimensions; from one group to another nothing moves. What is true of
// whole groups (reduced, broadcast, reversed, ...) can therefore change places with the reshape.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace smelt::hlo {

struct DimensionGroup {
  int64_t from_begin = 0, from_end = 0;  // dimensions [begin, end) of the input
  int64_t to_begin = 0, to_end = 0;      // and of the output
};

// The finest grouping; dimensions of size 1 join the group before them (the first ones, the group after). Empty for
// scalars and where a dimension is 0. The element counts must be equal.
std::vector<DimensionGroup> GroupDimensions(absl::Span<const int64_t> from, absl::Span<const int64_t> to);

// Whether a property of input dimensions holds for all, or for none, of the group's dimensions; sizes of 1 do not count
// (a group of only such says false). Absent: mixed.
template <typename Property>
std::optional<bool> HoldsForGroup(const DimensionGroup& group, absl::Span<const int64_t> from, Property&& property) {
  bool some = false, some_not = false;
  for (int64_t d = group.from_begin; d < group.from_end; ++d) {
    if (from[d] == 1) continue;
    (property(d) ? some : some_not) = true;
  }
  if (some && some_not) return std::nullopt;
  return some;
}

// Whether the reshape only inserts and removes dimensions of size 1.
bool OnlyOnesDiffer(absl::Span<const int64_t> from, absl::Span<const int64_t> to);

// The dimensions without those of size 1.
std::vector<int64_t> WithoutOnes(absl::Span<const int64_t> dimensions);

// position -> index of the inverse permutation.
std::vector<int64_t> InversePermutation(absl::Span<const int64_t> permutation);

}  // namespace smelt::hlo
