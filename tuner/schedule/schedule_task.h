// A kernel whose schedule is tuned: its code's space of configurations on one machine.
//
//   const ScheduleTask task = ScheduleTask::Create(kernel, machine).value();
//   task.space.Default();
//
// The kernel outlives the task. Immutable and thread-safe.
#pragma once

#include <utility>

#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "kernels/config/config.h"
#include "machine/machine.h"

namespace smelt::tuner {

using kernels::config::Config;

struct ScheduleTask {
  const fusion::Kernel* kernel;
  machine::Machine machine;
  kernels::config::ConfigSpace space;

  // Errors: those of kernels::config::SpaceOf, for a kernel that has no loop nest above all.
  static absl::StatusOr<ScheduleTask> Create(const fusion::Kernel& kernel, machine::Machine machine);
};

}  // namespace smelt::tuner
