// Writes modules to files of every form: texts, protos, packed or not.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "hlo/module.h"

namespace smelt::hlo {

// Writes what the name says (hlo/file/format.h), whole or not at all. InvalidArgument: the name says nothing.
absl::Status WriteModuleFile(const std::string& path, const Module& module);

}  // namespace smelt::hlo
