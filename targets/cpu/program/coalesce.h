// Removes copies by giving both sides one buffer.
#pragma once

#include "runtime/program.h"

namespace smelt::cpu {

// A copy goes where source and destination are never alive at once, innermost loops first: a loop then computes its
// next state in place, an update of a slice changes the array itself, and results are computed in the caller's buffers.
// Inputs and constants are never written, so copies from them stay. Returns the number of copies removed.
int64_t CoalesceCopies(runtime::Program* program);

}  // namespace smelt::cpu
