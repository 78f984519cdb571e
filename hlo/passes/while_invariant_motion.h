// Moves out of loops what every iteration would compute anew from the same values.
//
//   body:   w = element 2, handed on   e = exp(w)   x' = multiply(x, e)
//   after:  e = exp(w) before the loop, handed on as a new element
//
// A value is moved where that saves work without making the loop carry much more than it read: sums and contractions of
// invariant values, arithmetic that gives no more bytes than it takes, concatenated weights; not what a kernel computes
// on its way anyway (broadcasts, reshapes, wider types). Loops with side effects, and those that are not of the plain
// form of while_form.h, are left alone; so are calls, conditionals and loops inside. A loop that never runs computes
// what was moved for nothing. Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> MoveLoopInvariants(Module& module);

}  // namespace smelt::hlo
