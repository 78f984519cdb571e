// Files of schedules (kernels/config/trace_file.h) as `inspect` prints them and `run` and `bench` take them.
//
//   targets::Knobs ways = ReadSchedules("resnet.schedule", module).value();   // by kernel hash
//   std::string text = SchedulesOf(target, kernels).value();
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/kernel.h"
#include "hlo/module.h"
#include "targets/target.h"
#include "targets/tunable.h"

namespace smelt::cli {

// What is chosen for each kernel of the fused module that the file speaks of. InvalidArgument: a file that is none, or
// torn; a kernel that the module does not have, naming it and what to do.
absl::StatusOr<targets::Knobs> ReadSchedules(const std::string& path, const hlo::Module& fused);

// A file with the schedules that the kernels have now; those without a loop nest are left out. Errors: Unimplemented
// where the target's kernels have none; NotFound where no kernel has.
absl::StatusOr<std::string> SchedulesOf(const targets::Target& target, absl::Span<const fusion::Kernel> kernels,
                                        const std::string& way = "");

}  // namespace smelt::cli
