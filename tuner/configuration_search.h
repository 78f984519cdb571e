// The search over fusion configurations: chains of annealing under the model propose, the best distinct programs are
// measured in order of predicted cost, and what they took corrects the costs of the next round.
//
//   ConfigurationSearch(state, /*steps=*/nullptr, 0.7).Run(start).ok();
//   state.trials.best()
//
// Fails only where the records cannot be kept, with Cancelled, or with DeadlineExceeded where a trial outlasted the
// search's time.
#pragma once

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "tuner/search/rounds.h"
#include "tuner/session_state.h"
#include "tuner/session_steps.h"

namespace smelt::tuner {

class ConfigurationSearch {
 public:
  // `steps`: where kernels are timed alone; may be null. `share`: of the search's time, that this part of it may spend.
  ConfigurationSearch(SessionState& state, SessionSteps* steps, double share)
      : state_(state), steps_(steps), share_(share) {}

  absl::Status Run(const fusion::Config& start);

 private:
  struct Proposal {
    fusion::Config config;
    std::vector<WeightedKernel> kernels;
  };
  using Proposals = std::vector<Proposal>;

  absl::Status Rounds(const fusion::Config& start);
  // The next round under the model, within its time.
  absl::StatusOr<ModelSearchResult> Next(SearchRounds& rounds);
  // The programs that a round of annealing found and that were not asked for before.
  absl::StatusOr<Proposals> NewPrograms(const std::vector<ScoredState>& states);
  Proposals::iterator Cheapest(Proposals& proposals) const;
  absl::Status Measure(const Proposal& proposal);
  absl::Status MeasureInOrder(Proposals proposals, double share);
  absl::Status MeasureDeferred();
  absl::Status ClimbFromTheBest();
  // The cost of the best program that is ours, as kernels are known now; infinity: there is none.
  absl::StatusOr<double> BestCost();

  SessionState& state_;
  SessionSteps* steps_;
  const double share_;
  double search_seconds_ = 0;      // of all rounds
  std::set<Hash128> timed_alone_;  // configurations
  Proposals deferred_;             // skipped, unless there is time for them
};

}  // namespace smelt::tuner
