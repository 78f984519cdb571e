// Lets dots read transposed operands in place.
//
//   dot(x, transpose(w)), rhs_contracting_dims={0}   ->   dot(x, w), rhs_contracting_dims={1}
//
// The dot's dimension numbers absorb the transpose; the kernel that packs the operand reads it in either order. Applies
// where the free dimensions of the operand keep their order, since the result's dimensions follow it, and not where each
// product would take one element of every line of the operand: a transpose whose operand has a dimension of the batch
// last. Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> FoldTransposes(Module& module);

}  // namespace smelt::hlo
