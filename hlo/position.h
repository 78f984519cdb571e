// Values that follow from where an element stands: indices as array libraries write them.
//
//   FollowsFromPosition(arange(n)[:, None] + arange(k))   ->   true
//
// A gather at such indices reads what a slice or a window would, and no index is loaded for it.
#pragma once

#include "hlo/instruction.h"

namespace smelt::hlo {

// Every element of `x` is arithmetic on its place, iotas and scalar constants. Gives up beyond a few dozen
// instructions.
bool FollowsFromPosition(const Instruction& x);

}  // namespace smelt::hlo
