// Sorts of which only the beginning is read look for it alone.
//
//   slice(sort(x, iota), {[0:8], [0:10]})   ->   topk(x), k=10
//
// Applies where the last dimension is sorted by one plain comparison of its elements, alone or beside their positions,
// and no other user sees the rest: what approximate top-k becomes on a machine without one. Floats only of sorts that
// are not stable: top-k tells the zeros of both signs apart, which a comparison takes for equal. Linear in the module.
// Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> SortsToTopK(Module& module);

}  // namespace smelt::hlo
