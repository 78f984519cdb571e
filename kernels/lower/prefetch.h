// What a loop's body will read some iterations later is asked for in time.
//
//   for (i < 64) @prefetch_ahead(a, 4) { for (j < 32) c[i] = c[i] + a[i, j]; }                        before
//   for (i < 64) { for (l < 2) prefetch(&a[min(i + 4, 63), l*16], 0, 3);  for (j < 32) ...; }         after
//
// An attribute about a place along an axis (reads_ahead.h) names what is wanted by loads, which become lines and go.
//
// The region is what the body's loads of the buffer reach in an iteration, one line of 64 bytes after the other; beyond
// its ends the buffer's last elements are asked for again. The first pass: loops are still as the schedule has them.
// InvalidArgument, naming buffer and loop: a region that has no bound, where positions are data.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> PrefetchAhead(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
