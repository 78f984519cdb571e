// Softmax, layer norm and their kin: for each outer iteration of the root, the row's reductions and the values that
// several passes share are computed once, in scratch that stays in the nearest cache.
#include <algorithm>

#include "base/status_macros.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

absl::Status ScheduleRows(schedule::Schedule& schedule, const NestInput& input) {
  const Nest& nest = input.nest;
  const te::Operation& root = *nest.root;
  const std::string& stage = root.name;
  const int rank = static_cast<int>(root.axes.size());
  int depth = 0;
  for (const Attached& attached : nest.attached) depth = std::max(depth, attached.depth);

  // Outer loops over the rows' axes, several rows at a time where the tile says so.
  std::vector<std::string> outer;
  std::vector<std::string> inner;
  for (int i = 0; i < rank; ++i) {
    const int64_t tile = std::min(input.tile[i], root.shape[i]);
    if (i >= depth) {
      inner.push_back(AxisName(i));
    } else if (tile == 1) {
      outer.push_back(AxisName(i));
    } else {
      SMELT_ASSIGN_OR_RETURN(auto split, schedule.Split(stage, AxisName(i), tile));
      outer.push_back(split.first);
      inner.push_back(split.second);
    }
  }
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, order));
  const int64_t lanes = LanesOf(root, input.target);
  const int64_t rows = depth > 0 ? std::min(input.tile[depth - 1], root.shape[depth - 1]) : 0;
  if (depth == rank - 1 && !root.IsReduction() && HasShortRows(nest, rows, lanes)) {
    SMELT_RETURN_IF_ERROR(
        VectorizeShortRows(schedule, root, inner[inner.size() - 2], rows, inner.back(), lanes).status());
  } else if (depth < rank && !root.IsReduction()) {
    SMELT_RETURN_IF_ERROR(VectorizeLoop(schedule, stage, inner.back(), root.shape.back(), lanes).status());
  } else if (!root.IsReduction() && input.tile.back() > 1) {  // a row is one element
    SMELT_RETURN_IF_ERROR(
        VectorizeLoop(schedule, stage, inner.back(), std::min(input.tile.back(), root.shape.back()), lanes).status());
  }
  // Consumers are placed before what they read.
  for (size_t i = nest.attached.size(); i-- > 0;) {
    const Attached& attached = nest.attached[i];
    SMELT_RETURN_IF_ERROR(schedule.SetScope(attached.operation->name, ir::Scope::kThread));
    SMELT_RETURN_IF_ERROR(schedule.ComputeAt(attached.operation->name, stage, outer[attached.depth - 1]));
  }
  for (const Attached& attached : nest.attached) {
    SMELT_RETURN_IF_ERROR(ScheduleSmallStage(schedule, attached, AccessesOf(nest, *attached.operation), input.target,
                                             stage, outer[attached.depth - 1]));
  }
  if (root.IsReduction() && depth < rank && ReduceAxisForVectors(root, AccessesOf(nest, root)) < 0) {
    // Nothing lies beside each other along the sum, as in a window: vectors go over the results of a row.
    SMELT_ASSIGN_OR_RETURN(auto split, VectorizeLoop(schedule, stage, inner.back(), root.shape.back(), lanes));
    order.pop_back();
    if (!split.first.empty()) order.push_back(split.first);
    for (size_t r = 0; r < root.reduce_axes.size(); ++r) order.push_back(ReduceName(static_cast<int>(r)));
    order.push_back(split.second);
    SMELT_RETURN_IF_ERROR(ReorderLoops(schedule, stage, order));
  } else if (root.IsReduction()) {
    SMELT_RETURN_IF_ERROR(VectorizeReduction(schedule, root, AccessesOf(nest, root), input.target));
  }
  return ParallelizeOutermost(schedule, stage, outer, nest.Work());
}

}  // namespace smelt::kernels::nests
