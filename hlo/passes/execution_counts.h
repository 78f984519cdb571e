// How often each computation of a program runs, as far as its text tells: what the time of a kernel is multiplied by.
//
//   absl::flat_hash_map<const hlo::Computation*, double> counts = ExecutionCounts(module);
//
// The entry runs once; the body of a loop as often as its caller times the loop's trip count, and its condition once
// more. A loop whose count depends on data is taken to run kUnknownTrips times; each branch of a conditional once.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "hlo/module.h"

namespace smelt::hlo {

inline constexpr double kUnknownTrips = 10;

// Counts those computations that run kernels (Module::ExecutedComputations).
absl::flat_hash_map<const hlo::Computation*, double> ExecutionCounts(const hlo::Module& module);

}  // namespace smelt::hlo
