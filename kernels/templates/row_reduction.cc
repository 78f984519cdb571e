// The root sums along contiguous memory: several vectors of partial sums for each result, or, where a sum is short,
// several results a vector.
#include <algorithm>

#include "base/status_macros.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

absl::Status ScheduleRowReduction(schedule::Schedule& schedule, const NestInput& input) {
  if (!input.nest.attached.empty()) return ScheduleRows(schedule, input);
  const te::Operation& root = *input.nest.root;
  const std::vector<Access> accesses = AccessesOf(input.nest, root);
  const Access* largest = LargestAccess(accesses);
  std::vector<std::string> outer, others;  // loops over tiles; `others` find the largest operand near
  std::vector<std::string> inner;
  for (size_t i = 0; i < root.axes.size(); ++i) {
    const std::string axis = AxisName(static_cast<int>(i));
    const int64_t tile = std::min(input.tile[i], root.shape[i]);
    std::vector<std::string>& tiles = largest == nullptr || DependsOn(*largest, root.axes[i].var) ? outer : others;
    if (tile == 1 || tile == root.shape[i]) {
      (tile == 1 ? tiles : inner).push_back(axis);
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(root.name, axis, tile));
    tiles.push_back(split.first);
    inner.push_back(split.second);
  }
  std::vector<std::string> order = outer;
  order.insert(order.end(), others.begin(), others.end());
  const int64_t lanes = LanesOf(root, input.target);
  if (!inner.empty() && input.tile.back() >= lanes && ShortSumAxis(root, accesses, input.target) >= 0) {
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, root.name, inner.back(),
                                                     std::min(input.tile.back(), root.shape.back()), lanes));
    order.insert(order.end(), inner.begin(), inner.end() - 1);
    if (!split.first.empty()) order.push_back(split.first);
    const std::vector<std::string> shared = order;
    for (size_t r = 0; r < root.reduce_axes.size(); ++r) order.push_back(ReduceName(static_cast<int>(r)));
    order.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, root.name, order));
    SMELT_RETURN_IF_ERROR(UnrollSum(schedule, root));
    return ParallelizeOutermost(schedule, root.name, shared, Steps(root));
  }
  order.insert(order.end(), inner.begin(), inner.end());
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, root.name, order));
  SMELT_RETURN_IF_ERROR(VectorizeReduction(schedule, root, accesses, input.target));
  return ParallelizeOutermost(schedule, root.name, order, Steps(root));
}

}  // namespace smelt::kernels::nests
