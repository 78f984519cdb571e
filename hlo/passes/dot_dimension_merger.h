// Dots whose result ends in a dimension of a few elements see it merged with the free dimensions before it.
//
//   dot(w[64,32], x[64,64,16,3])   ->   reshape(dot(w, reshape(x)[64,3072]))
//
// A kernel's vectors run along the last dimension: over the three colours of a picture they are nearly empty, over its
// lines of pixels full. Applies where the operand whose dimensions end the result has free dimensions there that lie
// beside each other, or with dimensions of one element between them. Linear in the module. Returns true if the module
// changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> MergeDotDimensions(Module& module);

}  // namespace smelt::hlo
