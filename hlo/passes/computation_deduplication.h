// Lets reductions, sorts, scatters and maps with equal computations share one.
//
//   reduce(x, 0), to_apply=add_1   reduce(y, 0), to_apply=add_2
//   after:  both to_apply=add_1
//
// Front ends emit a new `add` for every sum. Shared, they make equal reductions equal instructions, which common
// subexpression elimination then merges; the copies are dead code. Bodies of loops, branches, calls and fusions stay
// apart: passes rewrite those in place. Expected time linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> DeduplicateComputations(Module& module);

}  // namespace smelt::hlo
