// Sums that would wait for their own last addition go in several chains.
//
//   for (k < 64) { acc[0] += x[k*2]; acc[0] += x[k*2 + 1]; }                                          before
//   b[0] = 0; for (k < 64) { acc[0] += x[k*2]; b[0] += x[k*2 + 1]; } acc[0] += b[0];                  after
//
// A core begins two multiply-adds a cycle and each takes four: loops with fewer than eight sums under way wait for
// them, as the last three pixels of a line of seven do in tiles of four. Sums of floats alone; the order in which their
// terms are added changes. After unroll, which makes the additions of one iteration visible. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> SplitChains(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
