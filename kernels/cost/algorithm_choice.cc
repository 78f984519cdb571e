#include "kernels/cost/algorithm_choice.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "base/hash.h"
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

// Layers whose choice is remembered; a program has a hundred at most.
constexpr size_t kMostRemembered = 4096;

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

// The fastest of the other algorithms where it is worth it.
std::optional<Estimated> Choose(const hlo::Computation& kernel, bool weights_known, const machine::Machine& target) {
  const std::vector<nests::Tile> others = nests::OtherAlgorithms(kernel);
  if (others.empty()) return std::nullopt;
  // The estimate of a kernel is that of an ordinary one; what is chosen here has to beat a good one.
  const double flops = ShapeOfContraction(*te::OnlyConvolution(kernel)).flops();
  const double direct = flops / (kDirectShare * target.peak_flops_f32 * target.threads);
  double best = kWinogradGain * std::min(direct, EstimateDirectly(kernel, target).seconds());
  std::optional<Estimated> chosen;
  for (const nests::Tile& other : others) {
    absl::StatusOr<Estimated> estimated = Estimate(kernel, other, target);
    if (!estimated.ok()) continue;
    const double seconds = estimated->cost.seconds() + (weights_known ? 0 : estimated->weights_seconds);
    if (seconds >= best) continue;
    best = seconds;
    chosen = *std::move(estimated);
  }
  return chosen;
}

// The layer and the figures of the machine that the choice depends on.
Hash128 KeyOf(const hlo::Instruction& convolution, const machine::Machine& target) {
  Hasher key;
  const hlo::Shape* const shapes[] = {&convolution.shape(), &convolution.operand(0)->shape(),
                                      &convolution.operand(1)->shape()};
  for (const hlo::Shape* shape : shapes) {
    key.Add(static_cast<int64_t>(shape->dimensions.size()));
    for (const int64_t dimension : shape->dimensions) key.Add(dimension);
  }
  const hlo::ConvolutionDimensions& order = convolution.attributes<hlo::ConvolutionAttributes>().dimensions;
  key.Add(order.output_batch).Add(order.output_feature).Add(order.input_feature);
  for (const int64_t dimension : order.output_spatial) key.Add(dimension);
  key.Add(target.threads).Add(target.vector_bytes).Add(target.vector_registers);
  for (const double figure : {target.peak_flops_f32, target.launch_seconds, target.fork_seconds})
    key.Add(std::bit_cast<int64_t>(figure));
  for (const machine::MemoryLevel& level : target.levels)
    key.Add(level.bytes).Add(std::bit_cast<int64_t>(level.bytes_per_second));
  return key.Finish();
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
  std::optional<Estimated> chosen = Choose(kernel, weights_known, target);
  if (!chosen) return std::nullopt;
  return std::move(chosen->tile);
}

std::optional<CostEstimate> ConvolutionByDefault(const hlo::Computation& kernel, const machine::Machine& target) {
  const hlo::Instruction* convolution = te::OnlyConvolution(kernel);
  if (convolution == nullptr || !te::CheckAlgorithm(kernel, te::ConvolutionAlgorithm::kWinograd2).ok())
    return std::nullopt;
  static absl::Mutex mutex;
  static auto* const remembered = new absl::flat_hash_map<Hash128, std::optional<CostEstimate>>();
  const Hash128 key = KeyOf(*convolution, target);
  {
    const absl::MutexLock lock(&mutex);
    if (const auto known = remembered->find(key); known != remembered->end()) return known->second;
  }
  std::optional<CostEstimate> cost;
  if (std::optional<Estimated> chosen = Choose(kernel, /*weights_known=*/false, target)) {
    cost = chosen->cost;
    cost->compute_seconds += chosen->weights_seconds;
  }
  const absl::MutexLock lock(&mutex);
  if (remembered->size() >= kMostRemembered) remembered->clear();
  return remembered->try_emplace(key, cost).first->second;
}

}  // namespace smelt::kernels::cost
