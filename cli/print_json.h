// The one way in which verbs print --json.
#pragma once

#include "nlohmann/json.hpp"

namespace smelt::cli {

// Indented, to standard output, with a newline. File names need not be UTF-8, which JSON is: bytes of theirs that are
// not print as U+FFFD.
void PrintJson(const nlohmann::json& value);

}  // namespace smelt::cli
