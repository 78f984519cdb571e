// Computes equal things once: replaces an instruction by an earlier one with the same operation and operands.
//
//   a = exp(x)   b = exp(x)   ROOT c = add(a, b)
//   after:  a = exp(x)   ROOT c = add(a, a)
//
// Equal constants become one as well. Instructions with side effects, random numbers, parameters, custom calls and
// control dependencies are left alone. Expected time linear in the module (each instruction is hashed once, operands
// first, so that equal chains fall together in one walk). Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> EliminateCommonSubexpressions(Module& module);

}  // namespace smelt::hlo
