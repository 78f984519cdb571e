#include "tuner/configuration_search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "fusion/config_file.h"
#include "fusion/incremental_fusion.h"

namespace smelt::tuner {
namespace {

constexpr int kRounds = SearchRounds::kRounds;
// The search may take at most this share of a round's time, where predictions are slow.
constexpr double kModelShare = 0.5;
// A program whose kernels alone take so much longer than those of the best one is not tried as a whole, and after
// so many such the round ends.
constexpr double kWorthATrial = 1.005;
constexpr int kMostSkipped = 16;
// Neighbours of the best programs: so many in a row that are known or far too slow end it, beside the best by their
// kernels: alone, which tell less, or as they were in whole programs; they are so many moves away from one of so many
// programs.
constexpr int kMostStale = 200;
constexpr double kFarTooSlowAlone = 1.5, kFarTooSlow = 1.05;
constexpr uint64_t kMostMoves = 3, kPeaks = 3;

}  // namespace

absl::Status ConfigurationSearch::Run(const fusion::Config& start) {
  SMELT_RETURN_IF_ERROR(Rounds(start));
  SMELT_RETURN_IF_ERROR(MeasureDeferred());
  return ClimbFromTheBest();
}

absl::Status ConfigurationSearch::Rounds(const fusion::Config& start) {
  if (state_.trials.usual().compiler.empty()) {
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> usual, state_.Fused(state_.trials.usual().config));
    state_.IsNewProgram(usual->Kernels());  // it was measured, and is none any more
  }
  std::vector<fusion::Config> starts(static_cast<size_t>(state_.options.chains), start);
  const std::optional<fusion::Config>& own = state_.tunable.own_fusions();
  // From the compiler's own fusions, from what was best so far, and from ours.
  for (size_t chain = 0; steps_ != nullptr && chain < starts.size(); ++chain) {
    if (chain % 3 == 0 && own) starts[chain] = *own;
    if (chain % 3 == 1 && steps_->start()) starts[chain] = *steps_->start();
  }
  const TuneOptions& options = state_.options;
  SearchRounds rounds(state_.space, state_.counts, state_.costs, std::move(starts),
                      {.moves = options.moves, .keep = options.candidates, .seed = options.seed});
  while (!rounds.done() && (rounds.round() == 0 || state_.BudgetLeft(share_))) {
    SMELT_ASSIGN_OR_RETURN(const ModelSearchResult found, Next(rounds));
    SMELT_ASSIGN_OR_RETURN(Proposals proposals, NewPrograms(found.best));
    SMELT_RETURN_IF_ERROR(MeasureInOrder(std::move(proposals), share_ * rounds.round() / kRounds));
    const Trial& best = state_.trials.best();
    if (best.compiler.empty()) {
      rounds.GoOnFrom(best.config);
    } else if (steps_ != nullptr && steps_->start()) {
      rounds.GoOnFrom(*steps_->start());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelSearchResult> ConfigurationSearch::Next(SearchRounds& rounds) {
  TuneReport& report = state_.report;
  const int round = rounds.round();
  const auto start = SessionClock::now();
  std::string usual;  // what another compiler makes is not predicted
  if (report.default_predicted > 0) {
    // With what the kernels measured so far have taught, as the candidates beside it.
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made, state_.Fused(state_.trials.usual().config));
    usual = absl::StrFormat(", default %.4f", 1e3 * state_.costs.Sum(made->Kernels()));
  }
  const auto proceed = [&](int64_t moves, double best) {
    const int64_t total = report.moves + moves;
    const double rate = static_cast<double>(total) / std::max(search_seconds_ + Since(start), 1e-6);
    // Before the first moves there is no rate to tell the time left from.
    const std::string left =
        moves > 0 ? absl::StrFormat("%.0f s left", static_cast<double>(rounds.moves_per_round() - moves) / rate)
                  : "starting";
    state_.Progress(absl::StrFormat("search %d/%d: %d moves, %.0f a second, predicted %.4f ms%s; %s; %s", round + 1,
                                    kRounds, total, rate, 1e3 * best, usual, left, state_.BestSoFar()));
    return state_.BudgetLeft(share_ * (round + kModelShare) / kRounds);
  };
  SMELT_ASSIGN_OR_RETURN(ModelSearchResult found, rounds.Next(proceed));
  report.moves += found.moves;
  search_seconds_ += found.seconds;
  report.moves_per_second = static_cast<double>(report.moves) / std::max(search_seconds_, 1e-9);
  return found;
}

absl::StatusOr<ConfigurationSearch::Proposals> ConfigurationSearch::NewPrograms(
    const std::vector<ScoredState>& states) {
  Proposals proposals;
  for (const ScoredState& found : states) {
    if (static_cast<int64_t>(proposals.size()) == state_.options.candidates) break;
    SMELT_ASSIGN_OR_RETURN(fusion::Config config, ConfigFromText(found.snapshot, state_.space.size()));
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made, state_.Fused(config));
    if (state_.IsNewProgram(made->Kernels())) proposals.push_back({std::move(config), made->Kernels()});
  }
  return proposals;
}

ConfigurationSearch::Proposals::iterator ConfigurationSearch::Cheapest(Proposals& proposals) const {
  return std::min_element(proposals.begin(), proposals.end(), [&](const Proposal& a, const Proposal& b) {
    return state_.costs.Sum(a.kernels) < state_.costs.Sum(b.kernels);
  });
}

absl::Status ConfigurationSearch::Measure(const Proposal& proposal) {
  const targets::Knobs tiles = steps_ == nullptr ? targets::Knobs() : steps_->NextTiles();
  return state_.Measure({proposal.config, tiles, state_.costs.Sum(proposal.kernels), ""}).status();
}

// Goes in order of predicted cost, which follows what is measured on the way; at least one is measured.
absl::Status ConfigurationSearch::MeasureInOrder(Proposals proposals, double share) {
  const size_t count = proposals.size();
  int skipped = 0;
  while (!proposals.empty() && (proposals.size() == count || state_.BudgetLeft(share))) {
    const auto best = Cheapest(proposals);
    if (steps_ != nullptr) {
      // Its kernels alone first: they may tell that another is better, or that none is worth a trial.
      SMELT_RETURN_IF_ERROR(steps_->TimeKernels(best->config, share));
      if (Cheapest(proposals) != best && timed_alone_.insert(best->config.Hash()).second) continue;
      SMELT_ASSIGN_OR_RETURN(const double bar, BestCost());
      if (state_.costs.Sum(best->kernels) > kWorthATrial * bar) {
        deferred_.push_back(std::move(*best));
        proposals.erase(best);
        if (++skipped > kMostSkipped) return absl::OkStatus();
        continue;
      }
    }
    SMELT_RETURN_IF_ERROR(Measure(*best));
    proposals.erase(best);
    state_.Progress(
        absl::StrFormat("measure: %d of %d configurations; %s", count - proposals.size(), count, state_.BestSoFar()));
  }
  return absl::OkStatus();
}

// What kernels alone told not to be worth a trial, for the time that is left: they do not tell what a loop saves that
// copies nothing, or how one kernel leaves the caches to the next.
absl::Status ConfigurationSearch::MeasureDeferred() {
  while (!deferred_.empty() && state_.BudgetLeft(share_)) {
    const auto cheapest = Cheapest(deferred_);
    SMELT_RETURN_IF_ERROR(Measure(*cheapest));
    deferred_.erase(cheapest);
    state_.Progress(absl::StrFormat("measure: %d configurations left; %s", deferred_.size(), state_.BestSoFar()));
  }
  return absl::OkStatus();
}

// Programs of small kernels are compiled and timed so fast that a search runs out of proposals before it runs out of
// time. Then the best programs' neighbours are measured as well.
absl::Status ConfigurationSearch::ClimbFromTheBest() {
  Random random(state_.options.seed);
  const double too_slow = steps_ != nullptr ? kFarTooSlowAlone : kFarTooSlow;
  for (int stale = 0; stale < kMostStale && state_.BudgetLeft(share_); ++stale) {
    const std::vector<PlainTrial>& fastest = state_.FastestPlain();
    if (fastest.empty()) return absl::OkStatus();
    const size_t peak = random() % std::min<uint64_t>(kPeaks, fastest.size());
    fusion::IncrementalFusion neighbour(state_.space, fastest[peak].trial.config);
    for (uint64_t moves = 1 + random() % kMostMoves; moves > 0; --moves)
      neighbour.Apply(ProposeMove(state_.space, random));
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made, state_.Fused(neighbour.config()));
    SMELT_ASSIGN_OR_RETURN(const double bar, BestCost());
    if (!state_.IsNewProgram(made->Kernels()) || made->cost() > too_slow * bar) continue;
    stale = 0;
    SMELT_RETURN_IF_ERROR(Measure({neighbour.config(), made->Kernels()}));
    state_.Progress(absl::StrCat("neighbours of the best; ", state_.BestSoFar()));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> ConfigurationSearch::BestCost() {
  const Trial& best = state_.trials.best();
  if (!best.compiler.empty() && (steps_ == nullptr || !steps_->start())) return std::numeric_limits<double>::infinity();
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made,
                         state_.Fused(best.compiler.empty() ? best.config : *steps_->start()));
  return made->cost();
}

}  // namespace smelt::tuner
