// Modules in StableHLO, which XLA's front end in a Python child makes HLO of.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace smelt::cli {

// The flag that names the Python: one of --target=xla, which AddTargetFlags (target.h) gives a verb.
inline constexpr char kPythonFlag[] = "--python";

// The file that a module argument stands for: itself, or for StableHLO what was made of it.
absl::StatusOr<std::string> ModuleFile(const std::string& module, const std::string& python);

}  // namespace smelt::cli
