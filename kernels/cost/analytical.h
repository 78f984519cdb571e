// Estimated time of one kernel on one target, split into its causes: the baseline of the TPU papers (MLSys 2021,
// Section 4), what fusion heuristics go by without a model, and what ranks tiles without one.
#pragma once

#include <algorithm>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/cost/cost_formula.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::kernels::cost {

// Data movement overlaps with compute, so the larger of the two counts.
struct CostEstimate {
  double compute_seconds = 0;  // arithmetic at the target's peak for the element type and how well it vectorises
  double memory_seconds = 0;   // traffic of each level at its bandwidth, the slowest level
  double launch_seconds = 0;   // call, fork and join
  double seconds() const { return std::max(compute_seconds, memory_seconds) + launch_seconds; }
};

// A kernel without a tile is estimated as if its tile suited it. Cheap (microseconds): fusion heuristics call it for
// every candidate.
CostEstimate EstimateKernel(const hlo::Computation& kernel, const machine::Machine& target);
// What the estimate follows, for many tiles of one kernel: `dimensions` stays empty in the first. The second has the
// errors of TiledDimensions.
CostFormula FormulaOf(const hlo::Computation& kernel, const machine::Machine& target);
absl::StatusOr<CostFormula> TileFormulaOf(const hlo::Computation& kernel, const machine::Machine& target);
// The same for one tile: traffic follows from the tile's footprints.
absl::StatusOr<CostEstimate> EstimateTile(const hlo::Computation& kernel, const nests::Tile& tile,
                                          const machine::Machine& target);

}  // namespace smelt::kernels::cost
