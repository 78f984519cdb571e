// Loops whose next state lies beside the old one take turns between the two places, without copying it back.
//
//   repeat 5: kernel s -> n; s = n
//   after:    repeat 2: kernel s -> n; kernel n -> s
//             repeat 1: kernel s -> n; s = n
#pragma once

#include "runtime/program.h"

namespace smelt::cpu {

// Copies that end a loop's body and that CoalesceCopies, which runs before, had to leave (a kernel reads the old value
// while it writes the new one) become a change of names: the body is there two or three times, each time with the
// places where the values then lie, until all values are where they began. Copies of little stay, and so do those of
// bodies that would become too long. Returns the number of loops that take turns.
int64_t AlternateLoopState(runtime::Program* program);

}  // namespace smelt::cpu
