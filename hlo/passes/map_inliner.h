// Writes map as elementwise work on whole arrays.
//
//   f(p, q) { ROOT m = multiply(p, q) }     map(x, y), to_apply=f   ->   multiply(x, y)
//
// Constants of the function are broadcast. Applies where the function holds only elementwise operations, constants and
// parameters. Linear in the result, which is bounded as in call inlining. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> InlineMaps(Module& module);

}  // namespace smelt::hlo
