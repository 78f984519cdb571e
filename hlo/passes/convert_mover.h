// Moves conversions to where fewer bytes pass.
//
//   transpose(f32 convert(bf16 x))    ->   convert(transpose(x))     a widening waits
//   bf16 convert(reshape(f32 x))      ->   reshape(convert(x))       a narrowing comes early
//
// Across reshape, transpose, reverse, and (widening only) slice and concatenate. There the conversions meet others that
// algebra joins, and the movement handles narrow elements. Only across single uses, so that nothing is computed twice.
// Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> MoveConverts(Module& module);

}  // namespace smelt::hlo
