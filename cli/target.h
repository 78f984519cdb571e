// The target that --target or --threads names.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cli {

// A usage error where the words name no target.
absl::StatusOr<cpu::Target> ReadTarget(const std::string& words);
// The same for code that this machine will run: more threads than it has cores are a line on standard error.
absl::StatusOr<cpu::Target> ReadTargetToRun(const std::string& words);

void WarnOfThreads(int threads);

}  // namespace smelt::cli
