// Simulated annealing over anything that can be changed a little and changed back.
//
//   AnnealingResult result = Anneal(state, {.moves = 10000, .seed = 1}).value();
//
// A chain accepts a change that lowers the cost, and one that raises it by the factor f with probability exp(-ln(f) /
// temperature): relative, so that one schedule serves programs of microseconds and of seconds. The temperature falls
// geometrically (MLSys 2021, Section 6.3, uses simulated annealing on the learned model for fusion).
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace smelt::tuner {

using Random = std::mt19937_64;

// Where a chain stands. One chain, one state.
class SearchState {
 public:
  virtual ~SearchState() = default;
  // Changes the state a little and returns the new cost in seconds. `changed` is false when the move came to nothing
  // (legality undid it).
  virtual absl::StatusOr<double> Mutate(Random& random, bool* changed) = 0;
  // Takes the last Mutate back, exactly.
  virtual void Undo() = 0;
  virtual double cost() const = 0;
  // The state as text: equal text, equal state. Called for states worth keeping, not for every move.
  virtual std::string Snapshot() const = 0;
};

struct AnnealingOptions {
  int64_t moves = 10000;            // moves tried, those that came to nothing included
  double first_temperature = 0.05;  // a change for the worse by 5 % is accepted with probability 1/e
  double last_temperature = 0.0005;
  int64_t keep = 16;  // best distinct states kept
  uint64_t seed = 1;
  // Called every few hundred moves with moves done and best cost; false ends the search (time is up, Ctrl-C) with what
  // it has.
  std::function<bool(int64_t moves, double best)> proceed;
};

struct ScoredState {
  std::string snapshot;
  double cost = 0;  // seconds, predicted
};

struct AnnealingResult {
  std::vector<ScoredState> best;  // lowest cost first, distinct
  int64_t moves = 0;
  int64_t accepted = 0;
  bool stopped = false;  // by `proceed`
};

// The start counts as a candidate. Fails only when Mutate fails.
absl::StatusOr<AnnealingResult> Anneal(SearchState& state, const AnnealingOptions& options);

}  // namespace smelt::tuner
