// Simplifies loops.
//
//   - elements of the loop's tuple that nothing needs are dropped;
//   - elements that no iteration changes are read from outside after the loop, and constants among them move into the
//     body and the condition, where they fold;
//   - a loop that runs zero times is its initial value, one that runs once is its body.
//
// Front ends carry everything that a loop body mentions through the loop. A body that several loops share is copied
// before it is changed. Loops whose body does not end in a tuple, or with control dependencies inside, are left alone.
// Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> SimplifyWhileLoops(Module& module);

}  // namespace smelt::hlo
