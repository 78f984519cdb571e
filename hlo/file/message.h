// Modules on their way to another process of ours.
//
//   const std::string message = ToMessage(module);
//   absl::StatusOr<std::unique_ptr<Module>> read = FromMessage(message, "candidate");
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

// HLO text, with the values that stand in for those that the module's own text left out; or, where constants are many
// bytes, a proto in base64: 12 million weights take 2 s as text on both sides, and a tenth as this. All that is to be
// run there is the same.
std::string ToMessage(const Module& module);
// Errors: those of ParseModule and ReadProto, under this name; InvalidArgument where it is neither.
absl::StatusOr<std::unique_ptr<Module>> FromMessage(std::string_view message, const std::string& name);

}  // namespace smelt::hlo
