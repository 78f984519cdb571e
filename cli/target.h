// The target that --target or --threads names.
#pragma once

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "machine/target_id.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cli {

// A usage error where the words name no target.
absl::StatusOr<cpu::Target> ReadTarget(const std::string& words);
// The same for code that this machine will run: more threads than it has cores are a line on standard error.
absl::StatusOr<cpu::Target> ReadTargetToRun(const std::string& words);

void WarnOfThreads(int threads);

// --target=KIND, KIND:threads=N or cpu:CPU,threads=N, and --threads=N, which says no more than that.
struct TargetFlags {
  std::string words = "cpu";
  int threads = 0;  // 0: not given
};
void AddTargetFlags(CLI::App& app, TargetFlags* flags, const std::string& help);
// Both in one, on one thread where neither says how many. A usage error: words that name no target, or other threads in
// the one than in the other.
absl::StatusOr<machine::TargetId> ReadTargetId(const TargetFlags& flags);

}  // namespace smelt::cli
