#include "kernels/cost/analytical.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "kernels/cost/algorithm_choice.h"

namespace smelt::kernels::cost {
namespace {

CostEstimate EstimateOfWhole(const CostFormula& formula) {
  const EstimateOf<double> whole = formula.Whole();
  return {whole.compute, whole.memory, whole.launch};
}

}  // namespace

CostFormula FormulaOf(KernelWork work, const machine::Machine& target, const Coefficients& coefficients) {
  CostFormula formula;
  // Counted at the rate of vectors; the formula counts at the peak.
  const double scale = target.peak_flops_f32 / target.vector_flops_f32;
  for (int loop = 0; loop < KernelWork::kLoops; ++loop)
    formula.compute += work.operations[loop] * coefficients.operation[loop] * scale;
  formula.is_contraction = !work.contractions.empty();
  formula.contractions = std::move(work.contractions);
  formula.contraction_share = coefficients.contraction_share;
  formula.memory_seconds = work.bytes / (target.BandwidthOf(work.bytes) * coefficients.bandwidth_share);
  formula.panel_bytes = work.packed_bytes;
  formula.panel_bandwidth = target.levels[1].bytes_per_second * coefficients.bandwidth_share;
  formula.peak_flops = target.peak_flops_f32;
  formula.launch_seconds = target.launch_seconds;
  formula.lanes = static_cast<double>(target.vector_bytes) / 4;
  // Large kernels are shared by the target's workers.
  if (target.threads > 1) {
    formula.workers = 0.9 * target.threads;
    formula.memory_workers =
        work.bytes > static_cast<double>(target.LevelBytes(2)) ? std::sqrt(formula.workers) : formula.workers;
    formula.fork_seconds = target.fork_seconds * work.phases;
    formula.least_seconds = 2 * target.fork_seconds;
  }
  return formula;
}

CostFormula FormulaOf(const hlo::Computation& kernel, const machine::Machine& target) {
  return FormulaOf(WorkOf(kernel, target), target, Coefficients());
}

absl::StatusOr<CostFormula> TileFormulaOf(const hlo::Computation& kernel, const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(std::vector<int64_t> dimensions, nests::TiledDimensions(kernel));
  CostFormula formula = FormulaOf(kernel, target);
  formula.dimensions = std::move(dimensions);
  return formula;
}

CostEstimate EstimateDirectly(const hlo::Computation& kernel, const machine::Machine& target) {
  return EstimateOfWhole(FormulaOf(kernel, target));
}

CostEstimate EstimateKernel(const hlo::Computation& kernel, const machine::Machine& target) {
  return EstimateKernel(kernel, WorkOf(kernel, target), target);
}

CostEstimate EstimateKernel(const hlo::Computation& kernel, KernelWork work, const machine::Machine& target) {
  CostFormula formula = FormulaOf(std::move(work), target, Coefficients());
  if (formula.is_contraction) {
    if (const std::optional<CostEstimate> convolution = ConvolutionByDefault(kernel, target)) {
      // What is fused with it is the same.
      formula.contractions.clear();
      const CostEstimate rest = EstimateOfWhole(formula);
      return {convolution->compute_seconds + rest.compute_seconds,
              std::max(convolution->memory_seconds, rest.memory_seconds), convolution->launch_seconds};
    }
  }
  return EstimateOfWhole(formula);
}

absl::StatusOr<CostEstimate> EstimateTile(const hlo::Computation& kernel, const nests::Tile& tile,
                                          const machine::Machine& target) {
  if (tile.algorithm != te::ConvolutionAlgorithm::kDirect) return EstimateAlgorithm(kernel, tile, target);
  SMELT_ASSIGN_OR_RETURN(const CostFormula formula, TileFormulaOf(kernel, target));
  if (formula.dimensions.size() != tile.extents.size()) {
    return absl::InvalidArgumentError("tile " + tile.ToString() + " has " + std::to_string(tile.extents.size()) +
                                      " extents, the kernel's main operation has " +
                                      std::to_string(formula.dimensions.size()) + " dimensions");
  }
  const std::vector<double> extents(tile.extents.begin(), tile.extents.end());
  const EstimateOf<double> estimate = formula.At(extents.data(), static_cast<int64_t>(extents.size()));
  return CostEstimate{estimate.compute, estimate.memory, estimate.launch};
}

}  // namespace smelt::kernels::cost
