#include "tuner/session_steps.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "targets/xla/own_fusions.h"

namespace smelt::tuner {
namespace {

// The share of the search's time for the kernels of the programs that the search starts from, one by one.
constexpr double kStartKernelShare = 0.4;
// So many of the best programs are tried with their loops called, or with nothing cut.
constexpr size_t kMostWholePrograms = 3;
// The start that XLA's own fusions are.
constexpr char kOwn[] = "xla-fusions";

}  // namespace

SessionSteps::SessionSteps(SessionState& state)
    : state_(state),
      choices_(*state.options.xla, state.program.module(), state.options.target.threads),
      kernels_(state.space, state.counts, state.costs, state.trials,
               {state.options.target.threads, choices_.kernels(), [this](const std::string& line) {
                  state_.Progress(absl::StrCat(line, "; ", state_.BestSoFar()));
                  return state_.BudgetLeft(kernel_share_);
                }}) {
  state_.trials.Log(absl::StrCat("choices beside fusion: ", choices_.Describe()));
  state_.measured = [this](const Trial& trial, const measure::Outcome& outcome) -> absl::Status {
    if (!trial.compiler.empty()) return absl::OkStatus();
    if (choices_.IsPlain(trial.tiles)) plain_.push_back({outcome.relative(), trial});
    return state_.options.xla_predictor == nullptr ? absl::OkStatus() : LearnOverhead(trial, outcome);
  };
  if (state_.options.xla->fused_by_xla != nullptr) FindOwnFusions();
}

void SessionSteps::FindOwnFusions() {
  Trials& trials = state_.trials;
  xla::OwnFusionsReport found;
  absl::StatusOr<fusion::Config> own = xla::OwnFusions(state_.space, *state_.options.xla->fused_by_xla, &found);
  if (!own.ok()) {
    trials.Log(absl::StrCat("XLA's own fusions are no start: ", std::string(own.status().message())));
    return;
  }
  own_ = *std::move(own);
  trials.Log(absl::StrCat("of XLA's ", found.fusions, " own fusions ", found.found,
                          " have all their instructions here, ", own_->Count(), " of ", found.edges,
                          " edges are legal"));
  for (const auto& [reason, count] : found.refused) trials.Log(absl::StrCat("  ", reason, ": ", count));
}

absl::Status SessionSteps::TimeKernels(const fusion::Config& config, double share) {
  kernel_share_ = share;
  return kernels_.Time(config);
}

const xla::Tiles& SessionSteps::NextTiles() {
  chosen_.insert(kernels_.tiles().begin(), kernels_.tiles().end());
  return chosen_;
}

const std::vector<PlainTrial>& SessionSteps::FastestPlain() {
  std::stable_sort(plain_.begin(), plain_.end(),
                   [](const PlainTrial& one, const PlainTrial& other) { return one.relative < other.relative; });
  return plain_;
}

absl::Status SessionSteps::MeasureStarts() {
  std::optional<Trial> best;
  double best_relative = 0;
  const auto measure = [&](const std::string& name, Trial trial) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const TrialResult result, state_.Measure(trial));
    state_.report.xla.starts.push_back({name, result.outcome.relative()});
    if (trial.compiler.empty() && result.outcome.ok() && (!best || result.outcome.relative() < best_relative)) {
      best_relative = result.outcome.relative();
      best = std::move(trial);
    }
    return absl::OkStatus();
  };
  Trial no_library = state_.trials.usual();
  no_library.compiler = "xla_no_library";
  SMELT_RETURN_IF_ERROR(measure(no_library.compiler, no_library));
  for (const std::string_view name : {kOwn, "priority", "xla-cpu", "none"}) {
    const bool is_own = name == kOwn;
    // The rules of XLA's fusion stand in for its fusions where these are not known.
    if (is_own ? !own_.has_value() : own_.has_value() && name == "xla-cpu") continue;
    fusion::Config config;
    if (is_own) {
      config = *own_;
    } else {
      SMELT_ASSIGN_OR_RETURN(config, state_.Named(std::string(name)));
    }
    kernel_share_ = kStartKernelShare;
    if (is_own || name == "priority") SMELT_RETURN_IF_ERROR(kernels_.Time(config));
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made, state_.Fused(config));
    if (!state_.IsNewProgram(made->Kernels())) continue;
    SMELT_RETURN_IF_ERROR(measure(std::string(name), {std::move(config), {}, made->cost(), ""}));
  }
  if (!best) return absl::OkStatus();
  start_ = best->config;
  // The library where it was faster alone, and everywhere.
  Trial chosen = *best, library = *best;
  chosen.tiles = kernels_.tiles();
  library.tiles = choices_.Library();
  if (!chosen.tiles.empty() && chosen.tiles != library.tiles)
    SMELT_RETURN_IF_ERROR(measure("kernels-chosen", std::move(chosen)));
  if (!library.tiles.empty()) SMELT_RETURN_IF_ERROR(measure("library", std::move(library)));
  chosen_ = best->tiles;
  return absl::OkStatus();
}

absl::Status SessionSteps::TuneChoices() {
  SMELT_RETURN_IF_ERROR(TryWholePrograms());
  return TryOneByOne();
}

// The search goes by kernels, which do not tell what a called loop or an uncut program saves. The first is tried
// whatever is left of the budget.
absl::Status SessionSteps::TryWholePrograms() {
  const std::vector<xla::Tiles> ways = choices_.WholeProgram();
  std::vector<PlainTrial> fastest = FastestPlain();  // trials add to it
  if (fastest.size() > kMostWholePrograms) fastest.resize(kMostWholePrograms);
  bool first = true;
  for (const PlainTrial& plain : fastest) {
    for (const xla::Tiles& way : ways) {
      if (!first && !state_.BudgetLeft(1)) return absl::OkStatus();
      first = false;
      Trial trial = plain.trial;
      trial.tiles.insert(way.begin(), way.end());
      state_.Progress(absl::StrCat("loops called, or nothing cut; ", state_.BestSoFar()));
      SMELT_RETURN_IF_ERROR(state_.Measure(trial).status());
    }
  }
  return absl::OkStatus();
}

absl::Status SessionSteps::TryOneByOne() {
  const Trials& trials = state_.trials;
  if (!trials.best().compiler.empty()) return absl::OkStatus();
  for (const auto& [key, tiles] : choices_.all()) {
    std::vector<std::string> ways = {""};
    ways.insert(ways.end(), tiles.begin(), tiles.end());
    for (const std::string& tile : ways) {
      if (!state_.BudgetLeft(1)) return absl::OkStatus();
      Trial trial = trials.best();
      const auto now = trial.tiles.find(key);
      if (tile == (now == trial.tiles.end() ? "" : now->second)) continue;
      if (tile.empty()) {
        trial.tiles.erase(key);
      } else {
        trial.tiles[key] = tile;
      }
      state_.Progress(
          absl::StrCat(choices_.Name(key), ": ", tile.empty() ? "as it is" : tile, "; ", state_.BestSoFar()));
      SMELT_RETURN_IF_ERROR(state_.Measure(trial).status());
    }
  }
  return absl::OkStatus();
}

absl::Status SessionSteps::LearnOverhead(const Trial& trial, const measure::Outcome& outcome) {
  SMELT_RETURN_IF_ERROR(kernels_.Time(trial.config));
  // Costs are of kernels as they were fastest alone.
  if (!xla::SameCalls(trial.tiles, kernels_.tiles())) return absl::OkStatus();
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made, state_.Fused(trial.config));
  KernelCosts& costs = state_.costs;
  costs.SetExtra(nullptr);
  const xla::Predictor* predictor = state_.options.xla_predictor;
  const std::vector<WeightedKernel> kernels = made->Kernels();
  double bytes = 0, runs = 0;
  for (const WeightedKernel& kernel : kernels) {
    const double moved = predictor->Bytes(kernel.hash);
    bytes += moved * kernel.executions;
    if (moved > 0) runs += kernel.executions;
  }
  overhead_.Add(bytes, runs, costs.Sum(kernels), outcome.relative() * state_.usual_outcome->median());
  const Overhead overhead = overhead_.Fit();
  costs.SetExtra([predictor, overhead](const Hash128& hash) {
    const double moved = predictor->Bytes(hash);
    return moved > 0 ? moved * overhead.seconds_per_byte + overhead.seconds_per_kernel : 0.0;
  });
  state_.trials.Log(absl::StrFormat("beyond kernels alone: %.3g s a byte, %.3g s a kernel", overhead.seconds_per_byte,
                                    overhead.seconds_per_kernel));
  return absl::OkStatus();
}

}  // namespace smelt::tuner
