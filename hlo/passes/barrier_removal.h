// Removes optimisation barriers once the simplifications that they fence off have run.
//
//   opt-barrier(x)   ->   x
//
// A barrier keeps passes from merging what lies on its two sides (recomputation in a backward pass, for example).
// Fusion respects no barrier, so it comes last. Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> RemoveBarriers(Module& module);

}  // namespace smelt::hlo
