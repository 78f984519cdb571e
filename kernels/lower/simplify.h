// Every expression simplified; empty loops, loops of one iteration and decided branches removed.
//
//   for (i < 1) if (i < 3) a[i + 0] = b[(j*8 + k) % 8];      before, with k < 8
//   a[0] = b[k];                                             after
//
// Linear. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

// Null when nothing is left.
Stmt SimplifyStmt(te::Simplifier& simplifier, const Stmt& stmt);
absl::StatusOr<ir::Function> SimplifyFunction(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
