// The root sums along contiguous memory: several vectors of partial sums for each result.
#include <algorithm>

#include "base/status_macros.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

absl::Status ScheduleRowReduction(schedule::Schedule& schedule, const NestInput& input) {
  if (!input.nest.attached.empty()) return ScheduleRows(schedule, input);
  const te::Operation& root = *input.nest.root;
  std::vector<std::string> outer;
  std::vector<std::string> inner;
  for (size_t i = 0; i < root.axes.size(); ++i) {
    const std::string axis = AxisName(static_cast<int>(i));
    const int64_t tile = std::min(input.tile[i], root.shape[i]);
    if (tile == 1 || tile == root.shape[i]) {
      (tile == 1 ? outer : inner).push_back(axis);
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(root.name, axis, tile));
    outer.push_back(split.first);
    inner.push_back(split.second);
  }
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, root.name, order));
  SMELT_RETURN_IF_ERROR(VectorizeReduction(schedule, root, AccessesOf(input.nest, root), input.target));
  return ParallelizeOutermost(schedule, root.name, order, Steps(root));
}

}  // namespace smelt::kernels::nests
