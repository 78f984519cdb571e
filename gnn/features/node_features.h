// Columns of one node; see features.h.
#pragma once

#include "hlo/instruction.h"

namespace smelt::gnn {

// `out` has NodeColumns().size() zeros.
void FillNodeFeatures(const hlo::Instruction& node, float* out);

}  // namespace smelt::gnn
