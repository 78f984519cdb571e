// Loops that a schedule leaves to be unrolled where that is short.
//
//   @auto_unroll(16) for (i < 4) for (j < 4) a[i*4 + j] = 0;      before
//   unrolled (i < 4) unrolled (j < 4) a[i*4 + j] = 0;             after: sixteen statements
//
// From the inside out, a loop with constant bounds is unrolled while its statements, those that it repeats counted as
// often, are at most as many as asked for, and at most eight loops deep. Just before unroll. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> ChooseUnrolledLoops(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
