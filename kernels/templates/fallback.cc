// The schedule that every graph has: what is not inlined is computed on its own, in shared scratch, with the last
// dimension in vectors.
#include "base/status_macros.h"
#include "kernels/templates/templates.h"

namespace smelt::kernels::nests {

absl::StatusOr<schedule::Schedule> FallbackSchedule(const Structure& structure, const machine::Machine& target) {
  schedule::Schedule schedule(structure.graph);
  for (const te::OperationRef& operation : structure.inlined) {
    SMELT_RETURN_IF_ERROR(schedule.ComputeInline(operation->name));
  }
  for (const Nest& nest : structure.nests) {
    const te::Operation& root = *nest.root;
    if (root.axes.empty() || root.IsReduction()) continue;
    SMELT_ASSIGN_OR_RETURN(auto split,
                           VectorizeLoop(schedule, root.name, AxisName(static_cast<int>(root.axes.size()) - 1),
                                         root.shape.back(), LanesOf(root, target)));
    (void)split;
  }
  return schedule;
}

}  // namespace smelt::kernels::nests
