// The terms of a sum that are zero because a factor lies in the border that a convolution adds to its picture.
//
//   for (row < 7) for (tap < 3) for (c < 512) sum[row] += pad[row + tap][c] * w[tap][c];               before
//   for (row < 7) for (tap < 3) if (1 <= row + tap < 8) for (c < 512) sum[row] += ...;                 after
//
// A tenth of the rows that 3 x 3 taps read of 7 x 7 pixels is border. A weight that is not finite makes no NaN of what
// is left out: XLA:CPU does either, by the library that it calls.
#pragma once

#include <vector>

#include "kernels/lower/nest.h"
#include "kernels/schedule/state.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

// Where the terms of this stage, a sum of products, may be other than zero: conditions on loops that stay loops, each
// around so many iterations that asking costs nothing. Empty for any other stage.
std::vector<Expr> BorderConditions(const schedule::State& state, const schedule::Stage& stage, const Nest& nest,
                                   te::Simplifier& simplifier);

}  // namespace smelt::kernels::lower
