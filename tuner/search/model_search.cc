#include "tuner/search/model_search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/status_macros.h"

namespace smelt::tuner {
namespace {

// The next chain's first temperature over one chain's, and how many there are.
constexpr double kWarmer = 3;
constexpr size_t kTemperatures = 4;

}  // namespace

absl::StatusOr<ModelSearchResult> SearchUnderModel(const fusion::Space& space, const ComputationCounts& counts,
                                                   absl::Span<const fusion::Config> starts, KernelCosts& costs,
                                                   const ModelSearchOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const size_t chains = starts.size();
  std::vector<AnnealingResult> results(chains);
  std::vector<absl::Status> statuses(chains);
  std::mutex mutex;  // of the three below
  int64_t moves = 0;
  double lowest = std::numeric_limits<double>::infinity();
  bool stop = false;
  auto run = [&](size_t chain) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> state,
                           FusionState::Create(space, starts[chain], counts, costs));
    AnnealingOptions annealing;
    annealing.moves = std::max<int64_t>(options.moves / static_cast<int64_t>(chains), 1);
    annealing.keep = options.keep;
    annealing.seed = options.seed * 7919 + chain;
    // Programs differ in how high the walls between their valleys are, so chains differ in how warm they begin; every
    // other one goes down from its start first.
    annealing.first_temperature *= options.warmth * std::pow(kWarmer, chain % kTemperatures);
    annealing.descend_first = chain % 2 == 0;
    int64_t last = 0;
    annealing.proceed = [&](int64_t done, double best) {
      std::lock_guard lock(mutex);
      moves += done - std::exchange(last, done);
      lowest = std::min(lowest, best);
      if (options.proceed && !options.proceed(moves, lowest)) stop = true;
      return !stop;
    };
    SMELT_ASSIGN_OR_RETURN(results[chain], Anneal(*state, annealing));
    return absl::OkStatus();
  };
  const size_t workers = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, std::max<size_t>(chains, 1));
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (size_t w = 0; w < workers; ++w) {
    threads.emplace_back([&] {
      for (size_t chain; (chain = next++) < chains;) statuses[chain] = run(chain);
    });
  }
  for (std::thread& thread : threads) thread.join();

  ModelSearchResult found;
  std::map<std::string, double> distinct;
  for (size_t chain = 0; chain < chains; ++chain) {
    SMELT_RETURN_IF_ERROR(statuses[chain]);
    found.moves += results[chain].moves;
    for (const ScoredState& state : results[chain].best) distinct.emplace(state.snapshot, state.cost);
    SMELT_ASSIGN_OR_RETURN(fusion::Config config, ConfigFromText(results[chain].best.front().snapshot, space.size()));
    found.chain_best.push_back(std::move(config));
  }
  for (const auto& [snapshot, cost] : distinct) found.best.push_back({snapshot, cost});
  std::stable_sort(found.best.begin(), found.best.end(),
                   [](const ScoredState& a, const ScoredState& b) { return a.cost < b.cost; });
  found.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return found;
}

}  // namespace smelt::tuner
