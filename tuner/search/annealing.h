// Simulated annealing over anything that can be changed a little and changed back.
//
//   AnnealingResult result = Anneal(state, {.moves = 10000, .seed = 1}).value();
//
// A chain first descends: it tries every step of the state's neighbourhood, makes those that help, and begins anew
// until none does. Then it anneals, and descends once more. A change that lowers the cost is accepted, and one that
// raises it by the factor f with probability exp(-ln(f) / temperature). The temperature falls geometrically (MLSys
// 2021, Section 6.3, uses simulated annealing on the learned model for fusion). It is counted in changes of the state's
// own size: one decision of thousands changes the cost by little, and at a temperature that suits a small program every
// change of a large one would be accepted.
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
  // Takes the last Mutate or Step back, exactly.
  virtual void Undo() = 0;
  virtual double cost() const = 0;
  // The state as text: equal text, equal state. Called for states worth keeping, not for every move.
  virtual std::string Snapshot() const = 0;

  // The moves that a descent tries, by number: as Mutate, but the move is given. None: chains only anneal.
  virtual int64_t steps() { return 0; }
  virtual absl::StatusOr<double> Step(int64_t, bool* changed) {
    *changed = false;
    return cost();
  }
};

struct AnnealingOptions {
  int64_t moves = 10000;  // moves tried, those of descents and those that came to nothing included
  // Temperatures are multiples of the median change for the worse, of the first that the chain meets: at temperature 1
  // such a change is accepted with probability 1/e.
  double first_temperature = 1;
  double last_temperature = 0.01;
  bool descend_first = true;  // before it anneals
  int64_t keep = 16;          // best distinct states kept
  uint64_t seed = 1;
  // Called every so many moves, or sooner where they are slow, with moves done and best cost; false ends the search
  // (time is up, Ctrl-C) with what it has.
  std::function<bool(int64_t moves, double best)> proceed;
  int64_t moves_between_reports = 256;
  // How much of the chain is over, from 0 to 1, where moves do not tell: the temperature goes by it. Null: by moves.
  std::function<double()> progress;
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

// The start counts as a candidate. Fails only when Mutate or Step fails.
absl::StatusOr<AnnealingResult> Anneal(SearchState& state, const AnnealingOptions& options);

}  // namespace smelt::tuner
