#include "tuner/hardware_search.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "fusion/incremental_fusion.h"
#include "fusion/legality.h"
#include "tuner/search/annealing.h"

namespace smelt::tuner {
namespace {

// A move that the rules undo, or that makes the program that was measured last, costs nothing; spaces where nothing
// else is left must end.
constexpr int64_t kMostMoves = 1000000;
constexpr double kFirstTemperature = 0.05, kLastTemperature = 0.0005;  // of logarithms of times
constexpr double kFailed = 1e9;

}  // namespace

absl::Status SearchHardware(SessionState& state, const fusion::Config& start) {
  Random random(state.options.seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  TuneReport& report = state.report;
  const auto begin = SessionClock::now();
  SMELT_ASSIGN_OR_RETURN(const TrialResult first, state.Measure({fusion::Legalize(state.space, start), {}, 0}));
  fusion::IncrementalFusion current(state.space, start);
  double relative = first.outcome.ok() ? first.outcome.relative() : kFailed;
  while (state.BudgetLeft(1) && report.moves < kMostMoves) {
    ++report.moves;
    current.Apply(ProposeMove(state.space, random));
    if (!current.changed()) continue;
    SMELT_ASSIGN_OR_RETURN(const TrialResult result, state.Measure({current.config(), {}, 0}));
    state.Progress(absl::StrFormat("hardware search: %d moves, %d measured; %s", report.moves, state.trials.measured(),
                                   state.BestSoFar()));
    const double progress = std::min(state.Progressed(), 1.0);
    const double temperature = kFirstTemperature * std::pow(kLastTemperature / kFirstTemperature, progress);
    const double worse = result.outcome.ok() ? std::log(result.outcome.relative() / relative) : kFailed;
    if (worse <= 0 || uniform(random) < std::exp(-worse / temperature)) {
      relative = result.outcome.relative();
    } else {
      current.Undo();
    }
  }
  report.moves_per_second = static_cast<double>(report.moves) / std::max(SecondsSince(begin), 1e-9);
  return absl::OkStatus();
}

}  // namespace smelt::tuner
