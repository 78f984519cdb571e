// Moves reshapes and transposes behind elementwise work where fewer of them remain.
//
//   add(transpose(a), transpose(b))                ->   transpose(add(a, b))
//   transpose(exp(transpose(x)))                   ->   transpose(transpose(exp(x))), which algebra then joins
//
// An operation moves in front of the rearrangement of its operands if all of them are the same rearrangement of equally
// shaped arrays (scalars that are broadcast adapt), and either two or more operands were rearranged or every user only
// rearranges again. Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> MoveReshapes(Module& module);

}  // namespace smelt::hlo
