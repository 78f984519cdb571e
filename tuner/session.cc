#include "tuner/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "fusion/apply.h"
#include "fusion/config_file.h"
#include "fusion/evaluator.h"
#include "fusion/legality.h"
#include "fusion/target.h"
#include "hlo/status_macros.h"
#include "hlo/text/printer.h"
#include "hlo/write_file.h"
#include "tuner/comparison.h"
#include "tuner/search/execution_counts.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"
#include "tuner/search/model_search.h"
#include "tuner/session_report.h"
#include "tuner/tile_search.h"
#include "tuner/trials.h"
#include "tuner/xla/calls.h"
#include "tuner/xla/choices.h"
#include "tuner/xla/kernel_trials.h"
#include "tuner/xla/loop_fusions.h"
#include "tuner/xla/overhead.h"
#include "tuner/xla/own_fusions.h"

namespace smelt::tuner {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Searches and measurements take turns: what was measured in one round corrects the costs of the next.
constexpr int kRounds = 4;
// Of the hardware budget, for configurations; the rest is for tiles.
constexpr double kConfigurationShare = 0.7;
// XLA: for the kernels of the programs that the search starts from, one by one; and for all before kernels and
// loops are tried one by one in their other ways, in the best program.
constexpr double kStartKernelShare = 0.4, kBeforeXlaTilesShare = 0.8;
// XLA: so many of the best programs are tried with their loops called, or with nothing cut.
constexpr size_t kMostWholePrograms = 3;
// XLA: a program whose kernels alone take so much longer than those of the best one is not tried as a whole, and after
// so many such the round ends.
constexpr double kWorthATrial = 1.005;
constexpr int kMostSkipped = 16;
// The start that XLA's own fusions are.
constexpr char kOwn[] = "xla-fusions";

TrialOptions ToTrialOptions(const TuneOptions& options, const fusion::Space& space) {
  TrialOptions trial{options.target, options.worker, options.policy};
  trial.worker.cancel = options.cancel;
  if (options.target.threads == 1) trial.worker.cpu = MeasuringCpu();
  if (options.xla != nullptr) {
    trial.candidate = [&options, &space](const Trial& t) {
      return xla::XlaTrial(*options.xla, space, t.config, t.tiles, t.compiler, options.target.threads);
    };
    trial.target_name = absl::StrCat("xla:threads=", options.target.threads);
    trial.compiler_version = xla::kXlaVersion;
  }
  trial.verify_seconds = options.verify_seconds;
  trial.cancel = options.cancel;
  return trial;
}

class Session {
 public:
  Session(const Program& program, const fusion::Space& space, const TuneOptions& options, gnn::Predictor& predictor,
          Trial usual)
      : program_(program),
        space_(space),
        options_(options),
        predictor_(predictor),
        counts_(ExecutionCounts(program.module())),
        costs_(predictor),
        trials_(program, space, std::move(usual), ToTrialOptions(options, space)) {}

  absl::StatusOr<TuneReport> Run() {
    SMELT_RETURN_IF_ERROR(trials_.Open(options_.folder));
    if (options_.xla == nullptr) {
      SMELT_ASSIGN_OR_RETURN(report_.default_predicted, Predict(trials_.usual().config));
    }
    const std::string spec = options_.start == "random" ? absl::StrCat("random:", options_.seed) : options_.start;
    SMELT_ASSIGN_OR_RETURN(const fusion::Config start, Config(spec));
    trials_.Log(absl::StrCat(program_.path, ": ", space_.size(), " decisions, start ", options_.start, ", seed ",
                             options_.seed, ", model: ", predictor_.Describe()));
    // An interruption ends the search, and what was found until then is the answer.
    if (options_.xla != nullptr) PrepareXlaKernels();
    const absl::Status searched = Search(start);
    if (!searched.ok() && !absl::IsCancelled(searched)) return searched;
    const absl::Status decided = Decide();
    if (!decided.ok() && !absl::IsCancelled(decided)) return decided;
    SMELT_RETURN_IF_ERROR(WriteAnswer());
    return report_;
  }

 private:
  absl::StatusOr<fusion::Config> Config(const std::string& name) {
    if (options_.xla != nullptr) return xla::XlaFusionConfig(space_, program_, name);
    return FusionConfig(space_, program_.flat, name, options_.target);
  }
  void PrepareXlaKernels() {
    choices_.emplace(*options_.xla, program_.module(), options_.target.threads);
    trials_.Log(absl::StrCat("choices beside fusion: ", choices_->Describe()));
    xla::KernelTrialOptions kernels{options_.target.threads, choices_->kernels(),
                                    [this](const std::string& line) {
                                      Progress(absl::StrCat(line, "; ", BestSoFar()));
                                      return BudgetLeft(kernel_share_);
                                    }};
    xla_kernels_.emplace(space_, counts_, costs_, trials_, std::move(kernels));
    if (options_.xla->fused_by_xla == nullptr) return;
    xla::OwnFusionsReport found;
    absl::StatusOr<fusion::Config> own = xla::OwnFusions(space_, *options_.xla->fused_by_xla, &found);
    if (own.ok()) {
      own_ = *std::move(own);
      trials_.Log(absl::StrCat("of XLA's ", found.fusions, " own fusions ", found.found,
                               " have all their instructions here, ", own_->Count(), " of ", found.edges,
                               " edges are legal"));
      for (const auto& [reason, count] : found.refused) trials_.Log(absl::StrCat("  ", reason, ": ", count));
    } else {
      trials_.Log(absl::StrCat("XLA's own fusions are no start: ", std::string(own.status().message())));
    }
  }
  bool Cancelled() const { return trials_.Cancelled(); }
  bool BudgetLeft(double share) const {
    return !Cancelled() && trials_.hardware_seconds() < share * options_.hardware_seconds;
  }
  void Progress(const std::string& line) {
    if (!options_.progress || Since(last_line_) < 0.1) return;
    last_line_ = Clock::now();
    std::fprintf(stderr, "\r%-118.118s", line.c_str());
  }
  std::string BestSoFar() const {
    return absl::StrFormat("best %.1f %% faster than the default, %.0f of %.0f s of hardware time",
                           100 * (1 / std::min(trials_.best_relative(), 1.0) - 1), trials_.hardware_seconds(),
                           options_.hardware_seconds);
  }
  absl::StatusOr<double> Predict(const fusion::Config& config) {
    KernelCosts model_alone(predictor_);
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> state,
                           FusionState::Create(space_, config, counts_, model_alone));
    return state->cost();
  }

  absl::Status Search(const fusion::Config& start) {
    Progress("evaluating the program, to compare with");
    SMELT_RETURN_IF_ERROR(trials_.PrepareVerifier());
    // The default in turn with itself: the first measurement, and its kernels' times.
    SMELT_ASSIGN_OR_RETURN(const TrialResult usual, Measure(trials_.usual()));
    if (!usual.outcome.ok()) {
      return absl::InternalError(absl::StrCat(
          program_.path, ": the default program cannot be measured: ", std::string(FailureName(usual.outcome.failure)),
          ": ", usual.outcome.message));
    }
    usual_outcome_ = usual.outcome;
    best_kernels_ = usual.kernels;
    if (options_.xla != nullptr) SMELT_RETURN_IF_ERROR(MeasureXlaStarts());
    if (space_.size() > 0) {
      if (options_.mode == TuneMode::kHardware) return SearchHardware(start);
      SMELT_RETURN_IF_ERROR(SearchModel(start));
    }
    if (options_.xla != nullptr) return TuneXlaTiles();
    if (options_.tiles && options_.mode == TuneMode::kModel) return TuneTiles();
    return absl::OkStatus();
  }

  // Whole programs to start from, beside XLA's own choice: its choice without its library, and ours.
  absl::Status MeasureXlaStarts() {
    Trial no_library = trials_.usual();
    no_library.compiler = "xla_no_library";
    SMELT_ASSIGN_OR_RETURN(const TrialResult without, Measure(no_library));
    report_.starts.push_back({"xla_no_library", without.outcome.relative()});
    std::optional<Trial> best;
    double best_relative = 0;
    const auto measure = [&](const char* name, Trial trial) -> absl::Status {
      SMELT_ASSIGN_OR_RETURN(const TrialResult result, Measure(trial));
      report_.starts.push_back({name, result.outcome.relative()});
      if (result.outcome.ok() && (!best || result.outcome.relative() < best_relative)) {
        best_relative = result.outcome.relative();
        best = std::move(trial);
      }
      return absl::OkStatus();
    };
    for (const char* name : {kOwn, "priority", "xla-cpu", "none"}) {
      if (name == kOwn ? !own_.has_value() : own_.has_value() && std::string_view(name) == "xla-cpu") continue;
      fusion::Config config;
      if (name == kOwn) {
        config = *own_;
      } else {
        SMELT_ASSIGN_OR_RETURN(config, Config(name));
      }
      kernel_share_ = kStartKernelShare;
      if (name == kOwn || std::string_view(name) == "priority") SMELT_RETURN_IF_ERROR(xla_kernels_->Time(config));
      SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made,
                             FusionState::Create(space_, config, counts_, costs_));
      if (!proposed_.insert(ProgramKey(made->Kernels())).second) continue;
      SMELT_RETURN_IF_ERROR(measure(name, {std::move(config), {}, made->cost(), ""}));
    }
    if (!best) return absl::OkStatus();
    start_ = best->config;
    // The library where it was faster alone, and everywhere.
    Trial chosen = *best, library = *best;
    chosen.tiles = xla_kernels_->tiles();
    library.tiles = choices_->Library();
    if (!chosen.tiles.empty() && chosen.tiles != library.tiles)
      SMELT_RETURN_IF_ERROR(measure("kernels-chosen", std::move(chosen)));
    if (!library.tiles.empty()) SMELT_RETURN_IF_ERROR(measure("library", std::move(library)));
    chosen_ = best->tiles;
    return absl::OkStatus();
  }

  // The best programs whose loops run step by step and whose fusions are cut, with neither: the search goes by kernels,
  // which do not tell what that saves. The first is tried whatever is left of the budget.
  absl::Status TryWholePrograms() {
    const std::vector<xla::Tiles> ways = choices_->WholeProgram();
    SortPlain();
    if (plain_.size() > kMostWholePrograms) plain_.resize(kMostWholePrograms);
    bool first = true;
    for (const auto& [relative, plain] : std::vector(plain_)) {
      for (const xla::Tiles& way : ways) {
        if (!first && !BudgetLeft(1)) return absl::OkStatus();
        first = false;
        Trial trial = plain;
        trial.tiles.insert(way.begin(), way.end());
        Progress(absl::StrCat("loops called, or nothing cut; ", BestSoFar()));
        SMELT_RETURN_IF_ERROR(Measure(trial).status());
      }
    }
    return absl::OkStatus();
  }

  void SortPlain() {  // fastest first
    std::stable_sort(plain_.begin(), plain_.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
  }

  // Then one by one, from the best program that is ours: loops called or not, kernels in each of their ways.
  absl::Status TuneXlaTiles() {
    SMELT_RETURN_IF_ERROR(TryWholePrograms());
    if (!trials_.best().compiler.empty()) return absl::OkStatus();
    for (const auto& [key, tiles] : choices_->all()) {
      std::vector<std::string> others = {""};
      others.insert(others.end(), tiles.begin(), tiles.end());
      for (const std::string& tile : others) {
        if (!BudgetLeft(1)) return absl::OkStatus();
        Trial trial = trials_.best();
        const auto now = trial.tiles.find(key);
        if (tile == (now == trial.tiles.end() ? "" : now->second)) continue;
        if (tile.empty()) {
          trial.tiles.erase(key);
        } else {
          trial.tiles[key] = tile;
        }
        Progress(absl::StrCat(choices_->Name(key), ": ", tile.empty() ? "as it is" : tile, "; ", BestSoFar()));
        SMELT_RETURN_IF_ERROR(Measure(trial).status());
      }
    }
    return absl::OkStatus();
  }
  // Measures, and lets costs and `best_kernels_` know.
  absl::StatusOr<TrialResult> Measure(const Trial& trial) {
    const double before = trials_.best_relative();
    SMELT_ASSIGN_OR_RETURN(TrialResult result, trials_.Measure(trial));
    if (!result.outcome.ok()) return result;
    if (options_.xla != nullptr && trial.compiler.empty() && choices_->IsPlain(trial.tiles))
      plain_.emplace_back(result.outcome.relative(), trial);
    if (options_.xla_predictor != nullptr && trial.compiler.empty())
      SMELT_RETURN_IF_ERROR(LearnOverhead(trial, result.outcome));
    if (trials_.best_relative() < before) best_kernels_ = result.kernels;
    if (trial.tiles.empty()) {
      for (const KernelRecord& kernel : result.kernels) {
        if (const auto hash = hlo::Hash128::FromHex(kernel.hash)) costs_.AddMeasured(*hash, kernel.seconds);
      }
    }
    return result;
  }

  // What this program took beyond its kernels alone corrects the costs of all.
  absl::Status LearnOverhead(const Trial& trial, const Outcome& outcome) {
    SMELT_RETURN_IF_ERROR(xla_kernels_->Time(trial.config));
    // Costs are of kernels as they were fastest alone.
    if (!xla::SameCalls(trial.tiles, xla_kernels_->tiles())) return absl::OkStatus();
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made,
                           FusionState::Create(space_, trial.config, counts_, costs_));
    costs_.SetExtra(nullptr);
    const std::vector<WeightedKernel> kernels = made->Kernels();
    double bytes = 0, runs = 0;
    for (const WeightedKernel& kernel : kernels) {
      const double moved = options_.xla_predictor->Bytes(kernel.hash);
      bytes += moved * kernel.executions;
      if (moved > 0) runs += kernel.executions;
    }
    overhead_.Add(bytes, runs, costs_.Sum(kernels), outcome.relative() * usual_outcome_->median());
    const xla::Overhead overhead = overhead_.Fit();
    costs_.SetExtra([predictor = options_.xla_predictor, overhead](const hlo::Hash128& hash) {
      const double moved = predictor->Bytes(hash);
      return moved > 0 ? moved * overhead.seconds_per_byte + overhead.seconds_per_kernel : 0.0;
    });
    trials_.Log(absl::StrFormat("beyond kernels alone: %.3g s a byte, %.3g s a kernel", overhead.seconds_per_byte,
                                overhead.seconds_per_kernel));
    return absl::OkStatus();
  }

  // A choice that whole programs showed stays; others come from kernels alone.
  static std::map<std::string, std::string> Merged(std::map<std::string, std::string> first,
                                                   const std::map<std::string, std::string>& second) {
    first.insert(second.begin(), second.end());
    return first;
  }

  struct Proposal {
    fusion::Config config;
    std::vector<WeightedKernel> kernels;
  };

  // Configurations that are new programs: equal kernels in other words are one.
  absl::StatusOr<std::vector<Proposal>> NewPrograms(const std::vector<ScoredState>& states) {
    std::vector<Proposal> proposals;
    for (const ScoredState& state : states) {
      if (static_cast<int64_t>(proposals.size()) == options_.candidates) break;
      SMELT_ASSIGN_OR_RETURN(fusion::Config config, ConfigFromText(state.snapshot, space_.size()));
      SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made,
                             FusionState::Create(space_, config, counts_, costs_));
      Proposal proposal{std::move(config), made->Kernels()};
      if (proposed_.insert(ProgramKey(proposal.kernels)).second) proposals.push_back(std::move(proposal));
    }
    return proposals;
  }
  static std::string ProgramKey(std::vector<WeightedKernel> kernels) {
    std::sort(kernels.begin(), kernels.end(), [](const WeightedKernel& a, const WeightedKernel& b) {
      return std::pair(a.hash, a.executions) < std::pair(b.hash, b.executions);
    });
    hlo::Hasher hasher;
    for (const WeightedKernel& kernel : kernels) hasher.Add(kernel.hash).Add(static_cast<int64_t>(kernel.executions));
    return hasher.Finish().ToHex();
  }

  absl::Status SearchModel(const fusion::Config& start) {
    if (options_.xla == nullptr) {
      SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> usual,
                             FusionState::Create(space_, trials_.usual().config, counts_, costs_));
      proposed_.insert(ProgramKey(usual->Kernels()));
    }
    const double share = options_.tiles                          ? kConfigurationShare
                         : choices_ && !choices_->all().empty() ? kBeforeXlaTilesShare
                                                                : 1.0;
    std::vector<fusion::Config> starts(static_cast<size_t>(options_.chains), start);
    // XLA: from its own fusions, from what was best so far, and from ours.
    for (size_t chain = 0; chain < starts.size(); ++chain) {
      if (chain % 3 == 0 && own_) starts[chain] = *own_;
      if (chain % 3 == 1 && start_) starts[chain] = *start_;
    }
    double seconds = 0;
    for (int round = 0; round < kRounds && (round == 0 || BudgetLeft(share)); ++round) {
      ModelSearchOptions search;
      search.moves = std::max<int64_t>(options_.moves / kRounds, 1);
      search.keep = options_.candidates;
      search.seed = options_.seed * kRounds + static_cast<uint64_t>(round);
      search.first_temperature = 0.05 / (1 + round);
      search.proceed = [&, round](int64_t moves, double best) {
        const int64_t total = report_.moves + moves;
        const double rate = static_cast<double>(total) / std::max(seconds + Since(search_start_), 1e-6);
        // Before the first moves there is no rate to tell the time left from.
        const std::string left =
            moves > 0 ? absl::StrFormat("%.0f s left", static_cast<double>(search.moves - moves) / rate) : "starting";
        const std::string usual = report_.default_predicted > 0
                                      ? absl::StrFormat(", default %.4f", 1e3 * report_.default_predicted)
                                      : "";  // XLA's own choice is not predicted
        Progress(absl::StrFormat("search %d/%d: %d moves, %.0f a second, predicted %.4f ms%s; %s; %s", round + 1,
                                 kRounds, total, rate, 1e3 * best, usual, left, BestSoFar()));
        return !Cancelled();
      };
      search_start_ = Clock::now();
      SMELT_ASSIGN_OR_RETURN(const ModelSearchResult found, SearchUnderModel(space_, counts_, starts, costs_, search));
      report_.moves += found.moves;
      seconds += found.seconds;
      report_.moves_per_second = static_cast<double>(report_.moves) / std::max(seconds, 1e-9);
      SMELT_ASSIGN_OR_RETURN(std::vector<Proposal> proposals, NewPrograms(found.best));
      SMELT_RETURN_IF_ERROR(MeasureProposals(std::move(proposals), share * (round + 1) / kRounds));
      // Chains go on from where each came to, every other one from the best program that was measured.
      starts = found.chain_best;
      if (trials_.best().compiler.empty()) {
        for (size_t chain = 0; chain < starts.size(); chain += 2) starts[chain] = trials_.best().config;
      } else if (start_) {
        for (size_t chain = 0; chain < starts.size(); chain += 2) starts[chain] = *start_;
      }
    }
    SMELT_RETURN_IF_ERROR(MeasureDeferred(share));
    return ClimbFromTheBest(share);
  }

  // In order of predicted cost, which follows what is measured on the way; at least one.
  absl::Status MeasureProposals(std::vector<Proposal> proposals, double share) {
    const size_t count = proposals.size();
    int skipped = 0;
    while (!proposals.empty() && (proposals.size() == count || BudgetLeft(share))) {
      const auto cheapest = [&] {
        return std::min_element(proposals.begin(), proposals.end(), [&](const Proposal& a, const Proposal& b) {
          return costs_.Sum(a.kernels) < costs_.Sum(b.kernels);
        });
      };
      auto best = cheapest();
      if (xla_kernels_) {
        // Its kernels alone first: they may tell that another is better, or that none is worth a trial.
        kernel_share_ = share;
        SMELT_RETURN_IF_ERROR(xla_kernels_->Time(best->config));
        if (cheapest() != best && timed_alone_.insert(best->config.Hash()).second) continue;
        SMELT_ASSIGN_OR_RETURN(const double bar, BestCost());
        if (costs_.Sum(best->kernels) > kWorthATrial * bar) {
          deferred_.push_back(std::move(*best));
          proposals.erase(best);
          if (++skipped > kMostSkipped) return absl::OkStatus();
          continue;
        }
      }
      SMELT_RETURN_IF_ERROR(MeasureProposal(*best));
      proposals.erase(best);
      Progress(absl::StrFormat("measure: %d of %d configurations; %s", count - proposals.size(), count, BestSoFar()));
    }
    return absl::OkStatus();
  }

  absl::Status MeasureProposal(const Proposal& proposal) {
    if (xla_kernels_) chosen_ = Merged(chosen_, xla_kernels_->tiles());
    return Measure({proposal.config, chosen_, costs_.Sum(proposal.kernels), ""}).status();
  }
  // What kernels alone told not to be worth a trial, for the time that is left: they do not tell what a loop saves that
  // copies nothing, or how one kernel leaves the caches to the next.
  absl::Status MeasureDeferred(double share) {
    while (!deferred_.empty() && BudgetLeft(share)) {
      const auto cheapest =
          std::min_element(deferred_.begin(), deferred_.end(), [&](const Proposal& a, const Proposal& b) {
            return costs_.Sum(a.kernels) < costs_.Sum(b.kernels);
          });
      SMELT_RETURN_IF_ERROR(MeasureProposal(*cheapest));
      deferred_.erase(cheapest);
      Progress(absl::StrFormat("measure: %d configurations left; %s", deferred_.size(), BestSoFar()));
    }
    return absl::OkStatus();
  }

  // XLA: programs of small kernels are compiled and timed so fast that a search runs out of proposals before it runs out
  // of time. Then the best programs' neighbours are measured as well.
  absl::Status ClimbFromTheBest(double share) {
    constexpr int kMostStale = 200;        // neighbours in a row that are known, or far too slow
    constexpr double kFarTooSlow = 1.5;    // by their kernels alone, beside the best
    constexpr uint64_t kMostMoves = 3, kPeaks = 3;
    if (!xla_kernels_) return absl::OkStatus();
    Random random(options_.seed);
    for (int stale = 0; stale < kMostStale && !plain_.empty() && BudgetLeft(share); ++stale) {
      SortPlain();
      const size_t peak = random() % std::min<uint64_t>(kPeaks, plain_.size());
      fusion::Evaluator neighbour(space_, plain_[peak].second.config);
      for (uint64_t moves = 1 + random() % kMostMoves; moves > 0; --moves)
        neighbour.Apply(ProposeMove(space_, random));
      SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made,
                             FusionState::Create(space_, neighbour.config(), counts_, costs_));
      SMELT_ASSIGN_OR_RETURN(const double bar, BestCost());
      if (!proposed_.insert(ProgramKey(made->Kernels())).second || made->cost() > kFarTooSlow * bar) continue;
      stale = 0;
      SMELT_RETURN_IF_ERROR(MeasureProposal({neighbour.config(), made->Kernels()}));
      Progress(absl::StrCat("neighbours of the best; ", BestSoFar()));
    }
    return absl::OkStatus();
  }

  // Of the best program that is ours, as kernels are known now.
  absl::StatusOr<double> BestCost() {
    const bool ours = trials_.best().compiler.empty();
    if (!ours && !start_) return std::numeric_limits<double>::infinity();
    const fusion::Config& config = ours ? trials_.best().config : *start_;
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> state,
                           FusionState::Create(space_, config, counts_, costs_));
    return state->cost();
  }

  // The papers' baseline: annealing with measurements alone.
  absl::Status SearchHardware(const fusion::Config& start) {
    Random random(options_.seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    const auto begin = Clock::now();
    // A move that the rules undo, or that makes the program that was measured last, costs nothing; spaces where nothing
    // else is left must end.
    constexpr int64_t kMostMoves = 1000000;
    SMELT_ASSIGN_OR_RETURN(const TrialResult first, Measure({fusion::Legalize(space_, start), {}, 0}));
    fusion::Evaluator current(space_, start);
    double relative = first.outcome.ok() ? first.outcome.relative() : 1e9;
    while (BudgetLeft(1) && report_.moves < kMostMoves) {
      ++report_.moves;
      current.Apply(ProposeMove(space_, random));
      if (!current.changed()) continue;
      SMELT_ASSIGN_OR_RETURN(const TrialResult result, Measure({current.config(), {}, 0}));
      Progress(absl::StrFormat("hardware search: %d moves, %d measured; %s", report_.moves, trials_.measured(),
                               BestSoFar()));
      const double progress = std::min(trials_.hardware_seconds() / options_.hardware_seconds, 1.0);
      const double temperature = 0.05 * std::pow(0.01, progress);
      const double worse = result.outcome.ok() ? std::log(result.outcome.relative() / relative) : 1e9;
      if (worse <= 0 || uniform(random) < std::exp(-worse / temperature)) {
        relative = result.outcome.relative();
      } else {
        current.Undo();
      }
    }
    report_.moves_per_second = static_cast<double>(report_.moves) / std::max(Since(begin), 1e-9);
    return absl::OkStatus();
  }

  absl::Status TuneTiles() {
    TileSearchOptions search;
    search.kernels = options_.tiled_kernels;
    search.tiles_per_kernel = options_.tiles_per_kernel;
    search.target = options_.target;
    search.proceed = [&](const std::string& line) {
      Progress(absl::StrCat(line, "; ", BestSoFar()));
      return BudgetLeft(1);
    };
    Trial trial = trials_.best();
    SMELT_ASSIGN_OR_RETURN(const std::vector<TileChoice> choices,
                           SearchTiles(trials_, space_, trial, best_kernels_, predictor_, search));
    if (choices.empty()) return absl::OkStatus();
    for (const TileChoice& choice : choices) {
      trial.tiles[choice.hash] = choice.tile;
      report_.tiles.push_back({choice.name, choice.default_seconds, choice.seconds, choice.tile});
    }
    return Measure(trial).status();
  }

  // The default, or the best that was measured if it is better beyond noise. `answer_` and the report's times say
  // which.
  absl::Status Decide() {
    answer_ = trials_.usual();
    if (usual_outcome_) report_.default_seconds = report_.best_seconds = usual_outcome_->median();
    const bool same = trials_.best_outcome() == nullptr;
    if (Cancelled()) {
      // No time for a comparison: the trial's own rounds, in turn with the default, decide.
      if (same) return absl::OkStatus();
      const Outcome& outcome = *trials_.best_outcome();
      Accept(CompareRounds({outcome.reference_seconds}, {outcome.seconds}));
      report_.verified = report_.improved && trials_.why_unchecked().empty();  // as every new best was
      return absl::OkStatus();
    }
    Progress(absl::StrCat("comparing with the default; ", BestSoFar()));
    const ComparisonOptions comparison{
        .children = options_.final_children, .rounds = options_.final_rounds, .seconds = 2 * options_.policy.seconds};
    const Candidate usual = trials_.ToCandidate(trials_.usual());
    std::optional<Candidate> same_library;
    if (own_ && !same && trials_.best().compiler.empty())
      same_library = trials_.ToCandidate({*own_, trials_.best().tiles, 0});
    const absl::StatusOr<Comparison> compared =
        CompareInterleaved(trials_.runner(), usual, trials_.ToCandidate(trials_.best()), comparison,
                           same_library ? &*same_library : nullptr);
    if (Cancelled()) return Decide();
    if (!compared.ok()) return compared.status();
    if (same) {
      report_.default_seconds = report_.best_seconds = compared->usual_seconds;
      report_.noise = compared->noise;
    } else {
      Accept(*compared);
    }
    SMELT_ASSIGN_OR_RETURN(Trials::Check check, trials_.Verify(answer_));
    if (check.verdict == Trials::Verdict::kWrong && report_.improved) {
      // Right when it became the best and wrong now: nothing to rely on.
      trials_.Log(absl::StrCat("the tuned program differs from the evaluator: ", check.difference));
      report_.improved = false;
      report_.best_seconds = report_.default_seconds;
      answer_ = trials_.usual();
      SMELT_ASSIGN_OR_RETURN(check, trials_.Verify(answer_));
    }
    report_.verified = check.verdict == Trials::Verdict::kRight;
    report_.difference = check.difference;
    if (!check.difference.empty())
      trials_.Log(absl::StrCat("the default differs from the evaluator: ", check.difference));
    return absl::OkStatus();
  }

  void Accept(const Comparison& compared) {
    report_.default_seconds = report_.best_seconds = compared.usual_seconds;
    report_.noise = compared.noise;
    report_.improved = compared.better;
    if (!compared.better) return;
    report_.best_seconds = compared.tuned_seconds;
    report_.same_library_seconds = compared.other_seconds;
    answer_ = trials_.best();
  }

  absl::Status WriteAnswer() {
    if (options_.xla != nullptr) return WriteXlaAnswer();
    if (answer_.tiles.empty()) report_.tiles.clear();
    SMELT_ASSIGN_OR_RETURN(report_.best_predicted, Predict(answer_.config));
    fusion::SavedConfig saved{answer_.config, report_.best_predicted, {}, answer_.tiles};
    if (report_.best_seconds > 0) saved.measured_seconds = report_.best_seconds;
    SMELT_RETURN_IF_ERROR(fusion::SaveConfig(trials_.Path("best.fusion.json"), space_, saved));
    const std::unique_ptr<hlo::Module> usual = fusion::Apply(space_, trials_.usual().config),
                                       tuned = fusion::Apply(space_, answer_.config);
    SMELT_RETURN_IF_ERROR(WriteFile(trials_.Path("fused.hlo"), hlo::ToText(*tuned, {})));
    SMELT_RETURN_IF_ERROR(NameChangedKernels(*usual, *tuned, &report_));
    return WriteReport();
  }

  absl::Status WriteXlaAnswer() {
    report_.answer = answer_.compiler.empty() ? "as_given" : answer_.compiler;
    std::error_code ignored;
    for (const char* name : {"best.fusion.json", "fused.hlo"}) std::filesystem::remove(trials_.Path(name), ignored);
    if (answer_.compiler.empty()) {
      SMELT_ASSIGN_OR_RETURN(report_.best_predicted, Predict(answer_.config));
      fusion::SavedConfig saved{answer_.config, report_.best_predicted, {}, answer_.tiles};
      for (const auto& [key, tile] : answer_.tiles)
        (tile == xla::kLibraryTile ? report_.library
         : tile == xla::kCallTile  ? report_.called
                                   : report_.uncut)
            .push_back(choices_->Name(key));
      if (report_.best_seconds > 0) saved.measured_seconds = report_.best_seconds;
      SMELT_RETURN_IF_ERROR(fusion::SaveConfig(trials_.Path("best.fusion.json"), space_, saved));
      const std::unique_ptr<hlo::Module> tuned =
          xla::LoopFusionProgram(space_, answer_.config, answer_.tiles, options_.target.threads);
      SMELT_RETURN_IF_ERROR(WriteFile(trials_.Path("fused.hlo"), hlo::ToText(*tuned, {})));
    }
    return WriteReport();
  }

  absl::Status WriteReport() {
    report_.unchecked = trials_.why_unchecked();
    report_.noisy = trials_.noisy();
    report_.cancelled = Cancelled();
    report_.measured = trials_.measured();
    report_.known = trials_.known();
    report_.failed = trials_.failed();
    report_.hardware_seconds = trials_.hardware_seconds();
    return WriteFile(trials_.Path("report.txt"), FormatReport(program_.path, options_, report_));
  }

  const Program& program_;
  const fusion::Space& space_;
  const TuneOptions& options_;
  gnn::Predictor& predictor_;
  const ComputationCounts counts_;
  KernelCosts costs_;
  Trials trials_;
  std::optional<Outcome> usual_outcome_;
  std::vector<KernelRecord> best_kernels_;        // of trials_.best()
  std::set<std::string> proposed_;                // programs, by their kernels
  std::optional<xla::KernelTrials> xla_kernels_;  // --target=xla
  std::optional<fusion::Config> own_, start_;     // --target=xla: XLA's own fusions, and the best start that is ours
  xla::OverheadFit overhead_;                     // --target=xla
  double kernel_share_ = 1;                       // of the budget, that single kernels may use until the next step
  std::set<hlo::Hash128> timed_alone_;            // configurations
  std::optional<xla::Choices> choices_;           // --target=xla
  xla::Tiles chosen_;                             // of these, for programs to come
  std::vector<Proposal> deferred_;                             // skipped, unless there is time for them
  std::vector<std::pair<double, Trial>> plain_;                // programs measured, with their times over the default's
  Trial answer_;
  TuneReport report_;
  Clock::time_point search_start_ = Clock::now(), last_line_ = {};
};

}  // namespace

absl::StatusOr<TuneReport> Tune(const Program& program, const TuneOptions& options, gnn::Predictor& predictor) {
  if (options.xla != nullptr) {
    SMELT_ASSIGN_OR_RETURN(const fusion::Space space, xla::XlaSpace(program));
    return Session(program, space, options, predictor, {fusion::Config(space.size()), {}, 0, "xla"}).Run();
  }
  SMELT_ASSIGN_OR_RETURN(const fusion::Space space, fusion::Space::Build(program.module(), options.rules));
  SMELT_ASSIGN_OR_RETURN(fusion::Config usual, FusionConfig(space, program.flat, "priority", options.target));
  return Session(program, space, options, predictor, {std::move(usual), {}, 0}).Run();
}

}  // namespace smelt::tuner
