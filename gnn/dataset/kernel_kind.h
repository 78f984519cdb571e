// The kind of a kernel, by its dominant operation: what the analytical model has a coefficient for, and what error
// tables are grouped by.
#pragma once

#include <string>

#include "hlo/computation.h"

namespace smelt::gnn {

// "convolution", "dot", "reduce-window", "reduce", "transpose", "gather", "elementwise", ...: the first of these that
// occurs in the kernel.
std::string KernelKind(const hlo::Computation& kernel);

}  // namespace smelt::gnn
