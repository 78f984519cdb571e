// Removes instructions that nothing uses and that have no side effect, and computations that nothing calls.
//
//   module:  a = exp(x)   b = add(x, x)   ROOT b
//   after:   b = add(x, x)   ROOT b
//
// Run after every pass that replaces instructions; linear in the size of the module. Parameters stay in every
// computation (their numbers are part of what callers rely on), and so do instructions with control dependencies.
// Returns true if the module changed. Fails only on a module without an entry computation.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "hlo/passes/side_effects.h"

namespace smelt::hlo {

absl::StatusOr<bool> EliminateDeadCode(Module& module);

// The part of it that concerns one computation, for passes that rebuild computations. Returns whether it changed.
bool RemoveDeadInstructions(Computation& computation, const SideEffects& effects);

}  // namespace smelt::hlo
