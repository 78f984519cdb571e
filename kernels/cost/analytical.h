// Estimated time of one kernel on one target, split into its causes: the baseline of the TPU papers (MLSys 2021,
// Section 4), the prior of the learned model, and what chooses default tiles.
#pragma once

#include <algorithm>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/space/tiles.h"
#include "kernels/target.h"

namespace smelt::kernels::cost {

// Data movement overlaps with compute, so the larger of the two counts.
struct CostEstimate {
  double compute_seconds = 0;  // arithmetic at the target's peak for the element type and how well it vectorises
  double memory_seconds = 0;   // traffic of each level at its bandwidth, the slowest level
  double launch_seconds = 0;   // call, fork and join
  double seconds() const { return std::max(compute_seconds, memory_seconds) + launch_seconds; }
};

// Kernel without a tile: of its default tile, without enumerating. Cheap (microseconds): fusion heuristics call it for
// every candidate.
CostEstimate EstimateKernel(const hlo::Computation& kernel, const Target& target);
// Of a particular tile: traffic follows from the tile's footprints.
absl::StatusOr<CostEstimate> EstimateTile(const hlo::Computation& kernel, const space::Tile& tile,
                                          const Target& target);

}  // namespace smelt::kernels::cost
