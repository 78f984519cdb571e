// The terms of a sum that are zero because a factor lies in the border that a convolution adds to its picture.
//
//   for (row < 7) for (tap < 3) for (c < 512) sum[row] += pad[row + tap][c] * w[tap][c];               before
//   for (row < 7) for (tap < 3) if (1 <= row + tap < 8) for (c < 512) sum[row] += ...;                 after
//
// A tenth of the rows that 3 x 3 taps read of 7 x 7 pixels is border, and a tenth of the columns: where a block of
// registers holds a whole line, each pixel has its own copy of the loops' body, which knows for each tap whether it
// reads border. A weight that is not finite makes no NaN of what is left out: XLA:CPU does either, by the library that
// it calls.
#pragma once

#include <vector>

#include "kernels/lower/nest.h"
#include "kernels/schedule/state.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

// Where the terms of this stage, a sum of products, may be other than zero: conditions on loops that stay loops, each
// around so many iterations that asking costs nothing (Guard::rare), and conditions that copies of a body decide once
// a loop over few taps is cut for them. Empty for any other stage.
std::vector<Guard> BorderConditions(const schedule::State& state, const schedule::Stage& stage, const Nest& nest,
                                    te::Simplifier& simplifier);

}  // namespace smelt::kernels::lower
