// The schedule that a kernel gets where nobody asks for another one.
//
//   schedule::Schedule schedule = DefaultSchedule(kernel.computation(), machine).value();
//
// The compiler looks at it first and keeps it, but for some products whose register tile spills
// (targets/cpu/compile/compile.h). Under a millisecond, without code generation.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::cost {

// The algorithm is the one expected to be the fastest where weights are arguments (algorithm_choice.h). Errors:
// PreferredSchedule's, of a kernel without a loop nest.
absl::StatusOr<schedule::Schedule> DefaultSchedule(const hlo::Computation& kernel, const machine::Machine& target);

}  // namespace smelt::kernels::cost
