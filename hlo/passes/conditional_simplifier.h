// Replaces conditionals whose branch is known by that branch.
//
//   conditional(constant(true), x, y), true_computation=f, false_computation=g   ->   the body of f, on x
//
// An index outside of the branches takes the last one, as in XLA. Linear in the result. Returns true if the module
// changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> SimplifyConditionals(Module& module);

}  // namespace smelt::hlo
