// Running sums and their kin: how `cumsum` reaches HLO, as a reduce-window whose windows are as long as the array.
//
//   if (const std::optional<RunningWindow> running = RunningWindowOf(reduce_window)) ... running->dimension
//
// Taken at their word they cost the square of the length; the evaluator, the loop nests and the cost model all go
// through the array once instead.
#pragma once

#include <cstdint>
#include <optional>

#include "hlo/instruction.h"

namespace smelt::hlo {

struct RunningWindow {
  int64_t dimension = 0;
  bool reverse = false;  // from an element's own place to the last one, instead of from the first one to its own place
  bool one_operation = false;  // reduced by one commutative operation, as a sum is
};

// Nothing where a window is of another kind.
std::optional<RunningWindow> RunningWindowOf(const Instruction& reduce_window);

}  // namespace smelt::hlo
