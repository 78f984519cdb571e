// What a flag that takes a number gets: a number, in the way that its help says.
#pragma once

#include "CLI/CLI.hpp"

namespace smelt::cli {

// Validators of numbers, up to 1e9; CLI11's own write the largest double out in full where one is not met.
CLI::Validator Positive();
CLI::Validator NotNegative();

// Sees to it that each flag of these that takes a number gets one: decimal, finite and within its type. CLI11 takes
// `nan`, wraps -1 to 18446744073709551615 and reads 010 as 8.
void CheckNumbers(CLI::App& app);

}  // namespace smelt::cli
