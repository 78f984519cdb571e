// A rough time of a kernel from what it reads, writes and computes: what heuristics use where they are given no better
// cost. About a microsecond for each kernel, without building it.
#pragma once

#include "fusion/graph.h"
#include "fusion/partition.h"
#include "fusion/rules.h"

namespace smelt::fusion {

// Seconds of one run: memory traffic or arithmetic, whichever takes longer, and the launch. Work that a consumer
// repeats for every element that it reads is counted as often; reads through contractions' operands cost extra.
double KernelSeconds(const Graph& graph, const Rules& rules, const KernelBody& body);
// The same of a kernel that stands alone as the entry of a module.
absl::StatusOr<double> KernelSeconds(const hlo::Module& kernel, const Rules& rules);

}  // namespace smelt::fusion
