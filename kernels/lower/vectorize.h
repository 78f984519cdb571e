// Vectorised loops become vector expressions: the loop's variable becomes a ramp, whatever does not vary with it stays
// scalar and is broadcast where it meets a vector.
//
//   vectorized (i = 0; i < 8; ++i) a[j*8 + i] = b[i] * c[j];                                   before
//   a[ramp(j*8, 1, 8)] = b[ramp(0, 1, 8)] * splat(c[j], 8);                                    after
//
// Memory allocated inside gains a lane dimension; calls are made lane by lane. Where a body holds vectors already, the
// loop stays one. After flatten and predicate. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> VectorizeLoops(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
