// Loops marked unrolled become straight code.
//
//   unrolled (i = 0; i < 2; ++i) a[i] = 0;      before
//   a[0] = 0;  a[1] = 0;                        after
//
// All loops of a nest are unrolled in one descent, so that every final statement is made and simplified once. A loop
// that would become more than LowerOptions::unroll_limit statements, or whose bounds are not constant, stays one. After
// vectorize, so that the indices of memory that becomes registers are constants. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> UnrollLoops(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
