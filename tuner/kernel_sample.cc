#include "tuner/kernel_sample.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "fusion/incremental_fusion.h"

namespace smelt::tuner {
namespace {

using Visit = std::function<void(fusion::IncrementalFusion&, const fusion::KernelRef&)>;

// Each of a stream of kernels with equal chance.
class Reservoir {
 public:
  Reservoir(int64_t room, std::mt19937_64& random) : room_(room), random_(random) {}

  // Draws whether the next kernel of the stream stays; one that does and is not wanted leaves its place as it is.
  void Offer(fusion::IncrementalFusion& evaluator, const fusion::KernelRef& reference, const std::string& provenance,
             const std::function<bool(const fusion::Kernel&)>& wanted) {
    const int64_t place = static_cast<int64_t>(random_() % static_cast<uint64_t>(++offered_));
    const bool has_room = static_cast<int64_t>(kept_.size()) < room_;
    if (!has_room && place >= room_) return;
    SampledKernel found{evaluator.KernelFor(reference), provenance};
    if (!wanted(found.kernel)) {
      --offered_;
      return;
    }
    if (has_room) {
      kept_.push_back(std::move(found));
    } else {
      kept_[place] = std::move(found);
    }
  }
  std::vector<SampledKernel>& kept() { return kept_; }

 private:
  const int64_t room_;
  std::mt19937_64& random_;
  int64_t offered_ = 0;
  std::vector<SampledKernel> kept_;
};

// Walks over the configurations of a program.
class Configurations {
 public:
  Configurations(const fusion::Space& space, const fusion::HeuristicOptions& cost, std::mt19937_64& random)
      : space_(space), cost_(cost), random_(random) {}

  void Heuristic(const std::string& name, const Visit& visit) {
    fusion::IncrementalFusion evaluator(space_, fusion::Heuristic(name, space_, cost_).value());
    for (const fusion::KernelRef& kernel : evaluator.Kernels()) visit(evaluator, kernel);
  }
  void Random(const Visit& visit) {
    const double probability = std::uniform_real_distribution<double>(0.05, 0.98)(random_);
    fusion::IncrementalFusion evaluator(space_, fusion::RandomFusion(space_, probability, random_()));
    for (const fusion::KernelRef& kernel : evaluator.Kernels()) visit(evaluator, kernel);
  }
  void Walk(const Visit& visit) {
    fusion::IncrementalFusion evaluator(space_, fusion::Heuristic("priority", space_, cost_).value());
    const int64_t steps = std::min<int64_t>(20 + space_.size() / 4, 400);
    for (int64_t step = 0; step < steps; ++step) {
      evaluator.Apply(fusion::FlipMove(static_cast<int32_t>(random_() % static_cast<uint64_t>(space_.size()))));
      for (const fusion::KernelRef& kernel : evaluator.added()) visit(evaluator, kernel);
    }
  }

 private:
  const fusion::Space& space_;
  const fusion::HeuristicOptions& cost_;
  std::mt19937_64& random_;
};

// The default first, and none that is drawn: `random` has its share below.
std::vector<std::string> HeuristicsInOrder() {
  std::vector<std::string> names = fusion::HeuristicNames();
  std::erase(names, "random");
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) { return name == "priority"; });
  return names;
}

}  // namespace

KernelSample SampleKernels(const fusion::Space& space, const fusion::HeuristicOptions& cost,
                           const SampleOptions& options, const std::function<bool(const fusion::Kernel&)>& wanted) {
  const auto start = Clock::now();
  std::mt19937_64 random(options.seed);
  Configurations configurations(space, cost, random);
  absl::flat_hash_set<Hash128> seen;
  Reservoir of_heuristics(options.kernels, random), of_random(options.kernels, random),
      of_walks(options.kernels, random);
  const auto into = [&](Reservoir& reservoir, std::string provenance) -> Visit {
    return [&, provenance](fusion::IncrementalFusion& evaluator, const fusion::KernelRef& reference) {
      if (seen.insert(reference.hash).second) reservoir.Offer(evaluator, reference, provenance, wanted);
    };
  };
  for (const std::string& name : HeuristicsInOrder()) {
    configurations.Heuristic(name, into(of_heuristics, absl::StrCat("heuristic:", name)));
    if (options.default_only) break;
  }
  const int64_t others = options.default_only || space.size() == 0 ? 0 : options.configurations;
  const auto ended = [&] { return Since(start) > options.seconds || (options.cancel != nullptr && *options.cancel); };
  for (int64_t i = 0; i < others && !ended(); ++i) {
    if (i % 2 == 0) {
      configurations.Random(into(of_random, "random"));
    } else {
      configurations.Walk(into(of_walks, "walk"));
    }
  }
  // What one of them leaves free, the others may have.
  const int64_t shares[] = {options.kernels / 4, (options.kernels - options.kernels / 4) / 2, options.kernels};
  KernelSample sample;
  sample.distinct = static_cast<int64_t>(seen.size());
  std::vector<SampledKernel> spare;
  Reservoir* const reservoirs[] = {&of_heuristics, &of_random, &of_walks};
  for (size_t r = 0; r < std::size(reservoirs); ++r) {
    std::vector<SampledKernel>& kept = reservoirs[r]->kept();
    int64_t room = std::min(shares[r], options.kernels - static_cast<int64_t>(sample.kernels.size()));
    if (options.default_only) room = options.kernels;
    for (SampledKernel& found : kept) (room-- > 0 ? sample.kernels : spare).push_back(std::move(found));
  }
  for (SampledKernel& found : spare) {
    if (static_cast<int64_t>(sample.kernels.size()) >= options.kernels) break;
    sample.kernels.push_back(std::move(found));
  }
  return sample;
}

}  // namespace smelt::tuner
