// Loop partition: where a condition inside a loop holds on one part of its range and not on another, the loop is cut
// there, so that each part is free of the condition.
//
//   for (i < 10) a[i] = if(i >= 1, b[i - 1], 0);                    before
//   a[0] = 0;  for (i = 1; i < 10) a[i] = b[i - 1];                 after
//
// Tails of splits, borders of padding and pieces of concatenations leave the steady part that way. Only conditions
// linear in the loop's variable are used; everything else in them is taken over its whole range. Vectorised, unrolled
// and bound loops are left whole: there conditions become masks or constants. A phase's parallel loop stays one, too:
// its body chooses the piece, whose variable PassContext::aliases remembers. Grows the function at most 24 times. Never
// fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> PartitionLoops(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
