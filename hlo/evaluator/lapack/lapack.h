// Custom calls that JAX makes on a CPU for decompositions: `lapack_spotrf_ffi` and its like, run by the system's
// LAPACK.
//
// Their operands and results are as jaxlib 0.10 declares them; other shapes or types are refused, since LAPACK would
// write beyond them. A matrix that is not finite gets NaNs from routines that iterate.
#pragma once

#include "hlo/evaluator/evaluation.h"

namespace smelt::hlo {

// Whether it calls a routine that EvaluateLapack knows.
bool CallsLapack(const Instruction& instruction);

absl::StatusOr<Value> EvaluateLapack(const Call& call);

}  // namespace smelt::hlo
