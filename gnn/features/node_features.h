// Columns of one node; see features.h.
#pragma once

#include "hlo/instruction.h"
#include "kernels/cost/kernel_work.h"

namespace smelt::gnn {

// A node, and what its kernel asks of it.
struct NodeInKernel {
  const hlo::Instruction& node;
  kernels::cost::InstructionWork work;
  double results = 1;    // elements of the kernel's (first) result
  int64_t distance = 0;  // bytes, of an operand or a result of the kernel (fusion::Kernel::distances)
  double touched = 0;    // bytes, of one with a distance
};

// `out` has NodeColumns().size() zeros.
void FillNodeFeatures(const NodeInKernel& in_kernel, float* out);

}  // namespace smelt::gnn
