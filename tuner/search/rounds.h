// The rounds of a search under a model, between which kernels are measured and costs learn: how many moves each has,
// how warm it is, where its chains start. What `smelt tune` runs, and what benchmarks and tests run where there is
// nothing to measure.
//
//   SearchRounds rounds(space, counts, costs, starts, {.keep = 64, .seed = 1});
//   while (!rounds.done()) {
//     ModelSearchResult found = rounds.Next(nullptr).value();
//     rounds.GoOnFrom(found.chain_best.front());      // or from what was measured to be best
//   }
//
// One chain for each start. What is found depends on the arguments, on GoOnFrom and on what costs learned alone, unless
// `proceed` ends a round. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"
#include "tuner/search/model_search.h"

namespace smelt::tuner {

struct RoundsOptions {
  int64_t moves = 0;  // of all chains in all rounds; 0: MovesFor the space
  int64_t keep = 64;  // best distinct states of each chain in each round
  uint64_t seed = 1;
};

// What a search of a space takes by default: some for each decision, and never few.
inline constexpr int64_t kMovesPerDecision = 50, kFewestMoves = 60000;
int64_t MovesFor(const fusion::Space& space);

class SearchRounds {
 public:
  static constexpr int kRounds = 4;

  // All but `starts` must outlive it; at least one start.
  SearchRounds(const fusion::Space& space, const ComputationCounts& counts, KernelCosts& costs,
               std::vector<fusion::Config> starts, const RoundsOptions& options)
      : space_(space), counts_(counts), costs_(costs), starts_(std::move(starts)), options_(options) {}

  // Searches one round; the next one's chains go on from where each came to. `proceed`: ModelSearchOptions::proceed.
  absl::StatusOr<ModelSearchResult> Next(const std::function<bool(int64_t moves, double best)>& proceed);
  // Every other chain of the next round starts here instead.
  void GoOnFrom(const fusion::Config& best);

  int round() const { return round_; }  // rounds that are over
  bool done() const { return round_ == kRounds; }
  int64_t moves_per_round() const;

 private:
  const fusion::Space& space_;
  const ComputationCounts& counts_;
  KernelCosts& costs_;
  std::vector<fusion::Config> starts_;
  const RoundsOptions options_;
  int round_ = 0;
};

}  // namespace smelt::tuner
