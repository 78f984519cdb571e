// What holds of a distinct kernel's arrays wherever the kernel runs.
//
//   LeavesOfJobs(built, [&](const runtime::Step& step, bool) { return ReadsThatAreKnown(step); })
#pragma once

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/program.h"
#include "targets/cpu/program/built_program.h"

namespace smelt::cpu {

// The numbers, for each distinct kernel, that `at` gives for every step that runs it; none where no step does.
// `outermost`: the step stands in no loop and no branch.
std::vector<std::vector<int64_t>> LeavesOfJobs(
    const BuiltProgram& built, absl::FunctionRef<std::vector<int64_t>(const runtime::Step& step, bool outermost)> at);

}  // namespace smelt::cpu
