// How often a loop runs, where that is plain from its text.
//
//   init: i = 0     condition: i < 10     body: i = i + 2     ->   5
//
// The loops that are recognised count by an integer element of the loop's tuple that starts at a constant, to which the
// body adds a constant, and which the condition compares with a constant. Absent for everything else, and where the
// counter would wrap. Fusions of the counter are looked into.
#pragma once

#include <cstdint>
#include <optional>

#include "hlo/instruction.h"

namespace smelt::hlo {

std::optional<int64_t> TripCount(const Instruction& loop);

}  // namespace smelt::hlo
