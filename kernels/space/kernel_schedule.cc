#include "kernels/space/kernel_schedule.h"

#include "hlo/status_macros.h"
#include "kernels/space/templates/templates.h"

namespace smelt::kernels::space {
namespace {

using Template = absl::Status (*)(schedule::Schedule&, const NestInput&);
// By NestKind.
constexpr Template kTemplates[] = {ScheduleInjective, ScheduleRows, ScheduleRowReduction, ScheduleTiled};

}  // namespace

absl::StatusOr<schedule::Schedule> ScheduleStructure(const Structure& structure, const std::vector<int64_t>& tile,
                                                     const Target& target) {
  schedule::Schedule schedule(structure.graph);
  for (const te::OperationRef& operation : structure.inlined) {
    SMELT_RETURN_IF_ERROR(schedule.ComputeInline(operation->name));
  }
  for (size_t i = 0; i < structure.nests.size(); ++i) {
    const Nest& nest = structure.nests[i];
    const NestInput input{structure, nest, target, i == structure.main ? tile : PreferredTiles(nest, target).front()};
    SMELT_RETURN_IF_ERROR(kTemplates[static_cast<int>(nest.kind)](schedule, input));
  }
  return schedule;
}

}  // namespace smelt::kernels::space
