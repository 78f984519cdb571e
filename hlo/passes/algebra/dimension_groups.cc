#include "hlo/passes/algebra/dimension_groups.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace smelt::hlo {

std::vector<DimensionGroup> GroupDimensions(absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  std::vector<DimensionGroup> groups;
  const int64_t from_rank = static_cast<int64_t>(from.size());
  const int64_t to_rank = static_cast<int64_t>(to.size());
  if (from_rank == 0 || to_rank == 0 || absl::c_linear_search(from, 0) || absl::c_linear_search(to, 0)) return groups;
  int64_t i = 0, j = 0;
  while (i < from_rank || j < to_rank) {
    DimensionGroup group{i, i, j, j};
    int64_t from_size = 1, to_size = 1;
    // Leading ones come with the first dimension that counts.
    while (i < from_rank && from[i] == 1) ++i;
    while (j < to_rank && to[j] == 1) ++j;
    if (i < from_rank) from_size = from[i++];
    if (j < to_rank) to_size = to[j++];
    while (from_size != to_size) {
      if (from_size < to_size) {
        if (i == from_rank) return {};
        from_size *= from[i++];
      } else {
        if (j == to_rank) return {};
        to_size *= to[j++];
      }
    }
    while (i < from_rank && from[i] == 1) ++i;
    while (j < to_rank && to[j] == 1) ++j;
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

std::vector<int64_t> WithoutOnes(absl::Span<const int64_t> dimensions) {
  std::vector<int64_t> kept;
  std::copy_if(dimensions.begin(), dimensions.end(), std::back_inserter(kept), [](int64_t size) { return size != 1; });
  return kept;
}

bool OnlyOnesDiffer(absl::Span<const int64_t> from, absl::Span<const int64_t> to) {
  return WithoutOnes(from) == WithoutOnes(to);
}

std::vector<int64_t> InversePermutation(absl::Span<const int64_t> permutation) {
  std::vector<int64_t> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

}  // namespace smelt::hlo
