// The pieces of a phase's parallel loop go back to its one variable.
//
//   parallel (i = 0; i < 8; ++i) if (i < 7) a[i'] = ...;      before, after partition made i' for the first seven
//   parallel (i = 0; i < 8; ++i) if (i < 7) a[i] = ...;       after
//
// The last pass: until then the narrower ranges of the pieces decide conditions. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> RestoreParallelVariables(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
