#include "tuner/search/annealing.h"

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"

namespace smelt::tuner {
namespace {

// Keeps the best distinct states, lowest cost first.
class Shortlist {
 public:
  explicit Shortlist(int64_t limit) : limit_(std::max<int64_t>(limit, 1)) {}

  bool Wants(double cost) const { return static_cast<int64_t>(states_.size()) < limit_ || cost < states_.back().cost; }
  void Offer(std::string snapshot, double cost) {
    for (const ScoredState& state : states_) {
      if (state.snapshot == snapshot) return;
    }
    auto at = std::upper_bound(states_.begin(), states_.end(), cost,
                               [](double c, const ScoredState& s) { return c < s.cost; });
    states_.insert(at, {std::move(snapshot), cost});
    if (static_cast<int64_t>(states_.size()) > limit_) states_.pop_back();
  }
  std::vector<ScoredState> Take() { return std::move(states_); }
  double best() const { return states_.front().cost; }

 private:
  int64_t limit_;
  std::vector<ScoredState> states_;
};

}  // namespace

absl::StatusOr<AnnealingResult> Anneal(SearchState& state, const AnnealingOptions& options) {
  constexpr int64_t kMovesBetweenReports = 256;
  Random random(options.seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Shortlist shortlist(options.keep);
  shortlist.Offer(state.Snapshot(), state.cost());
  AnnealingResult result;
  const double ratio = options.last_temperature / options.first_temperature;
  for (; result.moves < options.moves; ++result.moves) {
    if (result.moves % kMovesBetweenReports == 0 && options.proceed &&
        !options.proceed(result.moves, shortlist.best())) {
      result.stopped = true;
      break;
    }
    const double before = state.cost();
    bool changed = false;
    SMELT_ASSIGN_OR_RETURN(const double after, state.Mutate(random, &changed));
    if (!changed) continue;
    if (after > before) {
      const double progress = static_cast<double>(result.moves) / static_cast<double>(options.moves);
      const double temperature = options.first_temperature * std::pow(ratio, progress);
      if (uniform(random) >= std::exp(-std::log(after / before) / temperature)) {
        state.Undo();
        continue;
      }
    }
    ++result.accepted;
    // Snapshots cost as much as the program is long, so only states that improve on the list are written down.
    if (after < before && shortlist.Wants(after)) shortlist.Offer(state.Snapshot(), after);
  }
  result.best = shortlist.Take();
  return result;
}

}  // namespace smelt::tuner
