#include "tuner/session_steps.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace smelt::tuner {
namespace {

// The share of the search's time for the kernels of the programs that the search starts from, one by one.
constexpr double kStartKernelShare = 0.4;
// So many of the best programs are tried as a whole in other ways.
constexpr size_t kMostWholePrograms = 3;

}  // namespace

SessionSteps::SessionSteps(SessionState& state)
    : state_(state), kernels_(state.tunable, state.counts, state.costs, state.trials, [this](const std::string& line) {
        state_.Progress(absl::StrCat(line, "; ", state_.BestSoFar()));
        return state_.BudgetLeft(kernel_share_);
      }) {
  state_.measured = [this](const Trial& trial, const measure::Outcome& outcome) -> absl::Status {
    if (!trial.compiler.empty()) return absl::OkStatus();
    return LearnOverhead(trial, outcome);
  };
}

absl::Status SessionSteps::TimeKernels(const fusion::Config& config, double share) {
  kernel_share_ = share;
  return kernels_.Time(config);
}

const targets::Knobs& SessionSteps::NextTiles() {
  chosen_.insert(kernels_.tiles().begin(), kernels_.tiles().end());
  return chosen_;
}

absl::Status SessionSteps::MeasureStarts() {
  std::optional<Trial> best;
  double best_relative = 0;
  const auto measure = [&](const std::string& name, Trial trial) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const TrialResult result, state_.Measure(trial));
    state_.report.starts.push_back({name, result.outcome.relative()});
    if (trial.compiler.empty() && result.outcome.ok() && (!best || result.outcome.relative() < best_relative)) {
      best_relative = result.outcome.relative();
      best = std::move(trial);
    }
    return absl::OkStatus();
  };
  kernel_share_ = kStartKernelShare;
  for (const targets::Start& start : state_.tunable.starts()) {
    if (start.by_compiler) {
      Trial trial = state_.trials.usual();
      trial.compiler = start.name;
      SMELT_RETURN_IF_ERROR(measure(start.name, std::move(trial)));
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(Trial named, state_.tunable.Named(start.name));
    fusion::Config config = std::move(named.config);
    if (start.kernels_alone) SMELT_RETURN_IF_ERROR(kernels_.Time(config));
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made, state_.Fused(config));
    if (!state_.IsNewProgram(made->Kernels())) continue;
    SMELT_RETURN_IF_ERROR(measure(start.name, {std::move(config), {}, made->cost(), ""}));
  }
  if (!best) return absl::OkStatus();
  start_ = best->config;
  // The compiler's choice where it was faster alone, and everywhere.
  Trial chosen = *best, library = *best;
  chosen.tiles = kernels_.tiles();
  library.tiles = state_.tunable.CompilersChoice();
  if (!chosen.tiles.empty() && chosen.tiles != library.tiles)
    SMELT_RETURN_IF_ERROR(measure("kernels-chosen", std::move(chosen)));
  if (!library.tiles.empty()) SMELT_RETURN_IF_ERROR(measure("library", std::move(library)));
  chosen_ = best->tiles;
  return absl::OkStatus();
}

absl::Status SessionSteps::TuneChoices() {
  SMELT_RETURN_IF_ERROR(TryWholePrograms());
  return TryOneByOne(state_, state_.tunable.knobs());
}

// The search goes by kernels, which do not tell what a called loop or a program in one piece saves. The first is tried
// whatever is left of the budget.
absl::Status SessionSteps::TryWholePrograms() {
  const std::vector<targets::Knobs> ways = state_.tunable.WholeProgram();
  std::vector<PlainTrial> fastest = state_.FastestPlain();  // trials add to it
  if (fastest.size() > kMostWholePrograms) fastest.resize(kMostWholePrograms);
  bool first = true;
  for (const PlainTrial& plain : fastest) {
    for (const targets::Knobs& way : ways) {
      if (!first && !state_.BudgetLeft(1)) return absl::OkStatus();
      first = false;
      Trial trial = plain.trial;
      trial.tiles.insert(way.begin(), way.end());
      state_.Progress(absl::StrCat("whole programs in other ways; ", state_.BestSoFar()));
      SMELT_RETURN_IF_ERROR(state_.Measure(trial).status());
    }
  }
  return absl::OkStatus();
}

absl::Status SessionSteps::LearnOverhead(const Trial& trial, const measure::Outcome& outcome) {
  SMELT_RETURN_IF_ERROR(kernels_.Time(trial.config));
  // Costs are of kernels as they were fastest alone.
  if (!state_.tunable.SameKernels(trial.tiles, kernels_.tiles())) return absl::OkStatus();
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made, state_.Fused(trial.config));
  KernelCosts& costs = state_.costs;
  costs.SetExtra(nullptr);
  const gnn::Predictor* predictor = &state_.predictor;
  const std::vector<WeightedKernel> kernels = made->Kernels();
  double bytes = 0, runs = 0;
  for (const WeightedKernel& kernel : kernels) {
    const double moved = predictor->BytesMoved(kernel.hash);
    bytes += moved * kernel.executions;
    if (moved > 0) runs += kernel.executions;
  }
  overhead_.Add(bytes, runs, costs.Sum(kernels), outcome.relative() * state_.usual_outcome->median());
  const Overhead overhead = overhead_.Fit();
  costs.SetExtra([predictor, overhead](const Hash128& hash) {
    const double moved = predictor->BytesMoved(hash);
    return moved > 0 ? moved * overhead.seconds_per_byte + overhead.seconds_per_kernel : 0.0;
  });
  state_.trials.Log(absl::StrFormat("beyond kernels alone: %.3g s a byte, %.3g s a kernel", overhead.seconds_per_byte,
                                    overhead.seconds_per_kernel));
  return absl::OkStatus();
}

absl::Status TryOneByOne(SessionState& state, const targets::KnobChoices& knobs) {
  const Trials& trials = state.trials;
  if (!trials.best().compiler.empty()) return absl::OkStatus();
  for (const auto& [key, tiles] : knobs) {
    std::vector<std::string> ways = {""};
    ways.insert(ways.end(), tiles.begin(), tiles.end());
    for (const std::string& tile : ways) {
      if (!state.BudgetLeft(1)) return absl::OkStatus();
      Trial trial = trials.best();
      const auto now = trial.tiles.find(key);
      if (tile == (now == trial.tiles.end() ? "" : now->second)) continue;
      if (tile.empty()) {
        trial.tiles.erase(key);
      } else {
        trial.tiles[key] = tile;
      }
      state.Progress(
          absl::StrCat(state.tunable.NameOf(key), ": ", tile.empty() ? "as it is" : tile, "; ", state.BestSoFar()));
      SMELT_RETURN_IF_ERROR(state.Measure(trial).status());
    }
  }
  return absl::OkStatus();
}

}  // namespace smelt::tuner
