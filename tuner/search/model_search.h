// Several chains of annealing over fusion configurations under one model, side by side on the machine's cores.
//
//   ModelSearchResult found = SearchUnderModel(space, counts, starts, costs, {.moves = 20000, .seed = 1}).value();
//   found.best.front().snapshot       // ConfigFromText gives the configuration
//
// One chain for each start. What is found depends on the arguments alone, not on how many cores there are, unless
// `proceed` ends it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "tuner/search/annealing.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"

namespace smelt::tuner {

struct ModelSearchOptions {
  int64_t moves = 20000;  // of all chains together
  int64_t keep = 64;      // best distinct states of each chain
  uint64_t seed = 1;
  double warmth = 1;  // of the first temperatures, over what they are by default
  // Called now and then, from one chain's thread at a time, with the moves and the best cost of all chains so far;
  // false ends the search.
  std::function<bool(int64_t moves, double best)> proceed;
};

struct ModelSearchResult {
  std::vector<ScoredState> best;  // of all chains, distinct, lowest cost first
  std::vector<fusion::Config> chain_best;
  int64_t moves = 0;
  double seconds = 0;
};

absl::StatusOr<ModelSearchResult> SearchUnderModel(const fusion::Space& space, const ComputationCounts& counts,
                                                   absl::Span<const fusion::Config> starts, KernelCosts& costs,
                                                   const ModelSearchOptions& options);

}  // namespace smelt::tuner
