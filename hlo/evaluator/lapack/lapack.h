// Custom calls that JAX makes on a CPU for decompositions: `lapack_spotrf_ffi` and its like, run by the system's
// LAPACK.
//
// Their operands and results are as jaxlib 0.10 declares them; other shapes or types are refused, since LAPACK would
// write beyond them. A matrix that is not finite gets NaNs from routines that iterate.
#pragma once

#include <string>

#include "hlo/evaluator/evaluation.h"

namespace smelt::hlo {

// Whether the target names a routine that EvaluateLapack knows.
bool IsLapackTarget(const std::string& target);

absl::StatusOr<Value> EvaluateLapack(const Call& call);

}  // namespace smelt::hlo
