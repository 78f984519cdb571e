// Brings convolutions to the form that lowering expects.
//
//   convolution(pad(x, 0), w)             ->   convolution(x, w) with a padded (or, interior, dilated) window
//   convolution(x, reverse(w))            ->   convolution(x, w) with a reversed window
//
// Zeros that a window's padding gives need no array of their own. Padding of batch or feature dimensions stays. Linear
// in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> CanonicalizeConvolutions(Module& module);

}  // namespace smelt::hlo
