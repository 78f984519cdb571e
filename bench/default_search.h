// The search of fusions that `smelt tune` makes by default, in all its rounds, with nothing measured in between: for
// what the search finds under a model that is taken to be right.
//
//   FoundProgram found = SearchByDefault(space, start, predictor, TuneOptions()).value();
//   found.best, found.start     // seconds, predicted
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "gnn/predictor.h"
#include "hlo/passes/execution_counts.h"
#include "tuner/search/rounds.h"
#include "tuner/session.h"

namespace smelt::tuner {

struct FoundProgram {
  double start = 0, best = 0;  // seconds of the program, predicted
  fusion::Config config;       // of the best
  int64_t moves = 0;
};

inline absl::StatusOr<FoundProgram> SearchByDefault(const fusion::Space& space, const fusion::Config& start,
                                                    gnn::Predictor& predictor, const TuneOptions& options) {
  const ComputationCounts counts = hlo::ExecutionCounts(space.module());
  KernelCosts costs(predictor);
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> state, FusionState::Create(space, start, counts, costs));
  FoundProgram found{state->cost(), state->cost(), start};
  SearchRounds rounds(space, counts, costs, std::vector<fusion::Config>(options.chains, start),
                      {.moves = options.moves, .keep = options.candidates, .seed = options.seed});
  while (!rounds.done()) {
    SMELT_ASSIGN_OR_RETURN(const ModelSearchResult round, rounds.Next(nullptr));
    found.moves += round.moves;
    if (round.best.front().cost < found.best) {
      found.best = round.best.front().cost;
      SMELT_ASSIGN_OR_RETURN(found.config, ConfigFromText(round.best.front().snapshot, space.size()));
    }
    rounds.GoOnFrom(found.config);
  }
  return found;
}

}  // namespace smelt::tuner
