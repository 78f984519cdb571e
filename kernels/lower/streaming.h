// Stores that pass the caches by.
//
//   @nontemporal() for (i < 64) out[ramp(i*16, 1, 16)] = x;                           before
//   for (i < 64) @streaming_store() out[ramp(i*16, 1, 16)] = x;                       after
//
// Within what a schedule marks, each store of a whole vector to a result of the kernel, without a mask and at a
// multiple of 64 bytes, or of the vector's where that is less, is marked by itself: those are what machines have
// instructions for. Others stay as they are. The same of all stores of the results that LowerOptions::streamed names,
// where they are of the widest vectors, so that lines come whole, and the function does not read the result again.
// After the last simplify. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> FindStreamingStores(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
