// Measures what a Target says of this machine's speed, with kernels of our own code generator.
#pragma once

#include "absl/status/status.h"
#include "kernels/target.h"

namespace smelt::kernels {

// Fills the peaks and overheads of `target`, whose names, widths and cache sizes are already those of this machine.
// Takes about a second. Each figure is the best of several repeats.
absl::Status MeasureTarget(Target* target);

}  // namespace smelt::kernels
