// Columns of a kernel's schedule: what the machine makes of the loops that the templates give the kernel
// (kernels/loop_features/machine_facts.h). Half a millisecond a kernel, without code generation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hlo/computation.h"
#include "machine/machine.h"

namespace smelt::gnn {

const std::vector<std::string>& ScheduleFeatureNames();
// Whether a column's name is one of these.
bool IsOfSchedule(std::string_view column);
// One number a name, of the schedule that the compiler looks at first; zeros where the kernel has no loop nest.
std::vector<float> ScheduleFeatures(const hlo::Computation& kernel, const machine::Machine& target);

}  // namespace smelt::gnn
