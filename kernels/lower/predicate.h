// Conditions of kIf move onto the loads below it, and the kIf becomes a selection, so that no branch is needed and no
// load leaves its buffer.
//
//   a[i] = if(i < n, b[i], x);              before
//   a[i] = select(i < n, b[i where i < n], x);   after
//
// Inside vectorised loops the same happens to `if` statements whose condition differs by lane: they become masks of
// stores. After flatten, since it looks at addresses, and after partition, which leaves few conditions.
// ResourceExhausted where nested conditionals share so much that the code would grow without bound.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> PredicateLoads(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
