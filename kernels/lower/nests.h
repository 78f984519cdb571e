// Loop building: stages become loops where the schedule puts them.
//
//   for (i < 4)
//     local f32 c.local[6]
//     for (j < 6) c.local[j] = 0
//     for (k < 8) for (j < 6) c.local[j] = c.local[j] + a[i, k] * b[k, j]
//     for (j < 6) c[i, j] = c.local[j]
//
// Stages stand inside the loops where they are computed, the initial values of reductions before their outermost reduce
// loop, guards as far out as their variables allow. Buffers have the dimensions of what they store, and so have
// indices.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/lower/nest.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

// `nests` are what InferBounds found, with the same simplifier. InvalidArgument: a buffer beyond the capacity of its
// memory, or of more than 2^36 elements.
absl::StatusOr<ir::Function> BuildLoopNests(const schedule::State& state, std::vector<Nest> nests, std::string name,
                                            te::Simplifier& simplifier);

}  // namespace smelt::kernels::lower
