// Writes reshapes of row-major arrays as bitcasts: nothing moves, no kernel is needed.
//
//   f32[6]{0} reshape(f32[2,3]{1,0} x)   ->   f32[6]{0} bitcast(x)
//
// This is the form in which XLA hands programs to its fusion pass, and the last step of the default pipeline. Only
// reshapes whose two layouts are the default one (dimensions of size 1 aside) change. Linear in the module. Returns
// true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> ReshapesToBitcasts(Module& module);

}  // namespace smelt::hlo
