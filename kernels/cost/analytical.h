// Estimated time of one kernel on one target, split into its causes: the baseline of the TPU papers (MLSys 2021,
// Section 4), what fusion heuristics go by without a model, and what ranks tiles without one.
#pragma once

#include <algorithm>
#include <array>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/cost/cost_formula.h"
#include "kernels/cost/kernel_work.h"
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

// How generated code does beside the machine's peaks: what `bench/fit_analytical` finds in a corpus of measured
// kernels.
struct Coefficients {
  // What an operation takes, by who does it (KernelWork::Loop); 1: as long as one at the rate of vectors
  // (machine::Machine::vector_flops_f32). Less: several overlap.
  std::array<double, KernelWork::kLoops> operation = {0.8, 1.35, 466, 0.75, 3.35, 18.8, 45.6, 1};
  double contraction_share = 0.99;  // of the peak, for products of matrices whose tile suits them
  double bandwidth_share = 0.94;    // of each level's bandwidth
};

// A kernel without a tile is estimated as if its tile suited it, a convolution by the algorithm that it is computed by
// where its weights are arguments (algorithm_choice.h). Cheap (microseconds): fusion heuristics call it for every
// candidate.
CostEstimate EstimateKernel(const hlo::Computation& kernel, const machine::Machine& target);
// The same with the kernel's WorkOf at hand.
CostEstimate EstimateKernel(const hlo::Computation& kernel, KernelWork work, const machine::Machine& target);
// The same where every convolution is the sum that defines it.
CostEstimate EstimateDirectly(const hlo::Computation& kernel, const machine::Machine& target);
// What the estimate follows, for many tiles of one kernel: `dimensions` stays empty but in the third, which has the
// errors of TiledDimensions.
CostFormula FormulaOf(KernelWork work, const machine::Machine& target, const Coefficients& coefficients);
CostFormula FormulaOf(const hlo::Computation& kernel, const machine::Machine& target);
absl::StatusOr<CostFormula> TileFormulaOf(const hlo::Computation& kernel, const machine::Machine& target);
// The same for one tile: traffic follows from the tile's footprints.
absl::StatusOr<CostEstimate> EstimateTile(const hlo::Computation& kernel, const nests::Tile& tile,
                                          const machine::Machine& target);

}  // namespace smelt::kernels::cost
