// The order in which to make things that depend on each other.
#pragma once

#include <vector>

namespace smelt::hlo::proto {

struct DependencyOrder {
  std::vector<int> order;  // every number once, those that it depends on before it
  int in_cycle = -1;       // one that depends on itself, perhaps through others; the order is then of no use
};

// `before[i]` are the numbers on which i depends. Where dependencies leave a choice, `first` comes in its order, and
// then the others in theirs. Linear; does not recurse.
DependencyOrder OrderByDependency(const std::vector<std::vector<int>>& before, const std::vector<int>& first = {});

}  // namespace smelt::hlo::proto
