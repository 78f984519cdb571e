#include "hlo/proto/dependency_order.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace smelt::hlo::proto {

DependencyOrder OrderByDependency(const std::vector<std::vector<int>>& before, const std::vector<int>& first) {
  enum : uint8_t { kNew, kOpen, kDone };
  DependencyOrder result;
  result.order.reserve(before.size());
  std::vector<uint8_t> state(before.size(), kNew);
  std::vector<std::pair<int, size_t>> stack;
  const auto visit = [&](int start) {
    if (state[start] != kNew) return;
    state[start] = kOpen;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      auto& [current, next] = stack.back();
      if (next == before[current].size()) {
        state[current] = kDone;
        result.order.push_back(current);
        stack.pop_back();
        continue;
      }
      const int dependency = before[current][next++];
      if (state[dependency] == kOpen) result.in_cycle = dependency;
      if (state[dependency] != kNew) continue;
      state[dependency] = kOpen;
      stack.push_back({dependency, 0});
    }
  };
  for (int number : first) visit(number);
  for (size_t number = 0; number < before.size(); ++number) visit(static_cast<int>(number));
  return result;
}

}  // namespace smelt::hlo::proto
