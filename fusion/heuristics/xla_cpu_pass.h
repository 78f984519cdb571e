// XLA's instruction fusion for CPUs, run on a computation that stays as it is: the kernels that XLA would make.
//
//   for (const XlaKernel& kernel : XlaCpuKernels(computation)) ...
//
// Consumers are visited from the end of the program backwards. Each takes its producers one at a time, those latest in
// the program first, then theirs, until no rule allows another. A producer with several users is copied into each that
// takes it. What a rule says thus depends on what is fused already, and the same instruction may lie in several fusions
// with different companions.
//
// Time: near linear in the instructions and in the copies that fusions hold.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "hlo/computation.h"

namespace smelt::fusion::xla_cpu {

// One instruction inside a kernel.
struct Copy {
  const hlo::Instruction* instruction;
  // One an operand of the instruction: the copy that makes it, or -1 where it is read from memory.
  absl::InlinedVector<int32_t, 3> makers;
};

// A fusion, or an instruction that is left alone.
struct XlaKernel {
  std::vector<Copy> copies;  // the first is the root
};

std::vector<XlaKernel> XlaCpuKernels(const hlo::Computation& computation);

}  // namespace smelt::fusion::xla_cpu
