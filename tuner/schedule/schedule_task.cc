#include "tuner/schedule/schedule_task.h"

#include "base/status_macros.h"

namespace smelt::tuner {

absl::StatusOr<ScheduleTask> ScheduleTask::Create(const fusion::Kernel& kernel, machine::Machine machine) {
  SMELT_ASSIGN_OR_RETURN(kernels::config::ConfigSpace space, kernels::config::SpaceOf(kernel.computation(), machine));
  return ScheduleTask{&kernel, std::move(machine), std::move(space)};
}

}  // namespace smelt::tuner
