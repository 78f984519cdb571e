// The part of verification that reads the module header's attributes, which are kept as written.
#pragma once

#include <optional>
#include <string>

#include "hlo/module.h"

namespace smelt::hlo {

// What is wrong with input_output_alias or buffer_donor: an index that names no output, parameter or part of one.
std::optional<std::string> HeaderProblem(const Module& module);

}  // namespace smelt::hlo
