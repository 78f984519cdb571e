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
// Larger tiles than those of another algorithm that pays are worth it where they take at most so much of its time:
// their results err more, and what they make of the weights drives more out of the caches. On a Zen 4 14 x 14 pixels of
// 256 features, in ResNet-18 with its weights as arguments, take 1.52 ms in tiles of four and 1.28 in tiles of two,
// where 1.20 and 1.27 are expected.
constexpr double kLargerTilesGain = 0.9;

// What is remembered by layer; a program has a hundred at most. Thread-safe.
template <typename Value>
class Remembered {
 public:
  std::optional<Value> Find(const Hash128& key) const {
    const absl::MutexLock lock(&mutex_);
    const auto known = values_.find(key);
    return known == values_.end() ? std::nullopt : std::optional<Value>(known->second);
  }
  void Add(const Hash128& key, const Value& value) {
    constexpr size_t kMost = 4096;
    const absl::MutexLock lock(&mutex_);
    if (values_.size() >= kMost) values_.clear();
    values_.try_emplace(key, value);
  }

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Hash128, Value> values_;
};

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

// The layer and the figures of the machine that estimates depend on.
Hash128 KeyOf(const hlo::Instruction& convolution, const machine::Machine& target) {
  Hasher key;
  const hlo::Shape* const shapes[] = {&convolution.shape(), &convolution.operand(0)->shape(),
                                      &convolution.operand(1)->shape()};
  for (const hlo::Shape* shape : shapes) {
    key.Add(static_cast<int64_t>(shape->dimensions.size()));
    for (const int64_t dimension : shape->dimensions) key.Add(dimension);
  }
  const auto& attributes = convolution.attributes<hlo::ConvolutionAttributes>();
  const hlo::ConvolutionDimensions& order = attributes.dimensions;
  key.Add(order.output_batch).Add(order.output_feature).Add(order.input_feature);
  for (const int64_t dimension : order.output_spatial) key.Add(dimension);
  for (const hlo::WindowDimension& window : attributes.window.dimensions)
    key.Add(window.padding_low).Add(window.padding_high);
  key.Add(target.threads).Add(target.vector_bytes).Add(target.vector_registers);
  for (const double figure : {target.peak_flops_f32, target.launch_seconds, target.fork_seconds})
    key.Add(std::bit_cast<int64_t>(figure));
  for (const machine::MemoryLevel& level : target.levels)
    key.Add(level.bytes).Add(std::bit_cast<int64_t>(level.bytes_per_second));
  return key.Finish();
}

// The fastest of the other algorithms where it is worth it.
std::optional<Estimated> Choose(const hlo::Computation& kernel, bool weights_known, const machine::Machine& target) {
  const std::vector<nests::Tile> others = nests::OtherAlgorithms(kernel);
  if (others.empty()) return std::nullopt;
  // The estimate of a kernel is that of an ordinary one; what is chosen here has to beat a good one.
  const hlo::Instruction& convolution = *te::OnlyConvolution(kernel);
  const double flops = ShapeOfContraction(convolution).flops();
  const double direct = flops / (kDirectShare * target.peak_flops_f32 * target.threads);
  // Most seconds that the next of them may take.
  double most = kWinogradGain * std::min(direct, EstimateDirectly(kernel, target).seconds());
  std::optional<Estimated> chosen;
  // Seconds of an algorithm, and of transforming the weights for it, follow from the layer; only whether this kernel
  // can be computed so is for its own analysis to say. It takes longer than all else here, and most layers do not gain.
  static auto* const remembered = new Remembered<std::pair<double, double>>();
  const Hash128 layer = KeyOf(convolution, target);
  for (const nests::Tile& other : others) {
    const auto takes = [&](double seconds, double weights) { return seconds + (weights_known ? 0 : weights); };
    const Hash128 key = Hasher().Add(layer).Add(static_cast<int64_t>(other.algorithm)).Finish();
    if (const auto known = remembered->Find(key); known && takes(known->first, known->second) >= most) continue;
    absl::StatusOr<Estimated> estimated = Estimate(kernel, other, target);
    if (!estimated.ok()) continue;
    remembered->Add(key, {estimated->cost.seconds(), estimated->weights_seconds});
    const double seconds = takes(estimated->cost.seconds(), estimated->weights_seconds);
    if (seconds >= most) continue;
    most = kLargerTilesGain * seconds;
    chosen = *std::move(estimated);
  }
  return chosen;
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
  static auto* const remembered = new Remembered<std::optional<CostEstimate>>();
  const Hash128 key = KeyOf(*convolution, target);
  if (const auto known = remembered->Find(key)) return *known;
  std::optional<CostEstimate> cost;
  if (std::optional<Estimated> chosen = Choose(kernel, /*weights_known=*/false, target)) {
    cost = chosen->cost;
    cost->compute_seconds += chosen->weights_seconds;
  }
  remembered->Add(key, cost);
  return cost;
}

}  // namespace smelt::kernels::cost
