// Reads bitcasts between row-major arrays as the reshapes that they are.
//
//   f32[6]{0} bitcast(f32[2,3]{1,0} x)   ->   f32[6]{0} reshape(x)
//
// A bitcast speaks of memory; with default layouts on both sides and one element type it is a reshape, and rules about
// reshapes apply. ReshapesToBitcasts writes them back at the end. Linear in the module. Returns true if the module
// changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> BitcastsToReshapes(Module& module);

}  // namespace smelt::hlo
