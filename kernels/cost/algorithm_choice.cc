#include "kernels/cost/algorithm_choice.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "kernels/cost/contraction_shape.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/winograd.h"
#include "kernels/tiles/kernel_schedule.h"

namespace smelt::kernels::cost {
namespace {

// Share of the peak that the direct sum reaches at its best.
constexpr double kDirectShare = 0.92;

struct Estimated {
  nests::Tile tile;  // with extents
  CostEstimate cost;
  double weights_seconds = 0;  // of transforming the weights
};

absl::StatusOr<Estimated> Estimate(const hlo::Computation& kernel, const nests::Tile& named,
                                   const machine::Machine& target) {
  SMELT_ASSIGN_OR_RETURN(te::Graph graph, te::FromHlo(kernel, named.algorithm));
  const nests::Structure structure = nests::AnalyseStructure(std::move(graph));
  const nests::Nest& nest = structure.main_nest();
  SMELT_ASSIGN_OR_RETURN(nests::Tile tile, nests::WithExtents(nest, named, target));
  SMELT_RETURN_IF_ERROR(nests::CheckTile(nest, tile));
  const nests::WinogradEstimate estimate = nests::EstimateWinograd(*nest.winograd, tile.extents, target);
  // What overlaps in part is told as the longer one.
  return Estimated{std::move(tile),
                   {.compute_seconds = estimate.seconds() - estimate.launch_seconds,
                    .memory_seconds = estimate.weights_seconds + estimate.input_seconds,
                    .launch_seconds = estimate.launch_seconds},
                   nests::TransformOfWeightsSeconds(*nest.winograd, target)};
}

}  // namespace

absl::StatusOr<CostEstimate> EstimateAlgorithm(const hlo::Computation& kernel, const nests::Tile& tile,
                                               const machine::Machine& target) {
  if (tile.algorithm == te::ConvolutionAlgorithm::kDirect) {
    return absl::InvalidArgumentError("tile " + tile.ToString() + " names no algorithm");
  }
  SMELT_ASSIGN_OR_RETURN(const Estimated estimated, Estimate(kernel, tile, target));
  return estimated.cost;
}

std::optional<nests::Tile> DefaultAlgorithm(const hlo::Computation& kernel, bool weights_known,
                                            const machine::Machine& target) {
  const std::vector<nests::Tile> others = nests::OtherAlgorithms(kernel);
  if (others.empty()) return std::nullopt;
  // The estimate of a kernel is that of an ordinary one; what is chosen here has to beat a good one.
  const double flops = ShapeOfContraction(*te::OnlyConvolution(kernel)).flops();
  const double direct = flops / (kDirectShare * target.peak_flops_f32 * target.threads);
  double best = kWinogradGain * std::min(direct, EstimateKernel(kernel, target).seconds());
  std::optional<nests::Tile> chosen;
  for (const nests::Tile& other : others) {
    absl::StatusOr<Estimated> estimated = Estimate(kernel, other, target);
    if (!estimated.ok()) continue;
    const double seconds = estimated->cost.seconds() + (weights_known ? 0 : estimated->weights_seconds);
    if (seconds >= best) continue;
    best = seconds;
    chosen = std::move(estimated->tile);
  }
  return chosen;
}

}  // namespace smelt::kernels::cost
