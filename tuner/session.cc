#include "tuner/session.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "fusion/apply.h"
#include "fusion/config_file.h"
#include "fusion/target.h"
#include "hlo/text/printer.h"
#include "measure/comparison.h"
#include "targets/xla/loop_fusions.h"
#include "targets/xla/own_fusions.h"
#include "tuner/configuration_search.h"
#include "tuner/hardware_search.h"
#include "tuner/session_report.h"
#include "tuner/session_state.h"
#include "tuner/session_steps.h"
#include "tuner/tile_search.h"

namespace smelt::tuner {
namespace {

// Shares of the search's time that configurations may take; the rest is for tiles, and under XLA for kernels and loops
// tried one by one in their other ways, in the best program. The program with the best tiles is timed in what those
// leave.
constexpr double kBeforeTilesShare = 0.6, kTilesShare = 0.9, kBeforeXlaChoicesShare = 0.8;
// The evaluator's share of the time that there is.
constexpr double kEvaluatorShare = 0.25;
// The comparison gets what it needs of what is left when the default is measured, but not more than this; where that is
// too little for the fewest processes that can tell a large gain, as much as these need, within limits.
constexpr double kFinalShare = 0.4, kMostFinalShare = 0.8;
constexpr int kFewestChildren = 3;

constexpr char kConfigFile[] = "best.fusion.json", kProgramFile[] = "fused.hlo", kReportFile[] = "report.txt";

std::string TooShort(const measure::Budget& budget) {
  return absl::StrFormat("%g s are too short to measure even the default", budget.seconds());
}

bool IsOver(const absl::Status& status) { return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status); }

class Session {
 public:
  Session(const targets::Program& program, const fusion::Space& space, const TuneOptions& options,
          gnn::Predictor& predictor, measure::Budget& budget, Trial usual)
      : program_(program),
        space_(space),
        options_(options),
        budget_(budget),
        state_(program, space, options, predictor, budget, std::move(usual)),
        trials_(state_.trials),
        report_(state_.report) {}

  absl::StatusOr<TuneReport> Run() {
    SMELT_RETURN_IF_ERROR(trials_.Open(options_.folder));
    if (options_.xla == nullptr) {
      SMELT_ASSIGN_OR_RETURN(report_.default_predicted, state_.Predict(trials_.usual().config));
    }
    const std::string spec = options_.start == "random" ? absl::StrCat("random:", options_.seed) : options_.start;
    fusion::Config start = trials_.usual().config;  // `priority`, where the kernels are ours
    if (options_.xla != nullptr || spec != "priority") {
      SMELT_ASSIGN_OR_RETURN(start, state_.Named(spec));
    }
    trials_.Log(absl::StrCat(program_.path, ": ", space_.size(), " decisions, start ", options_.start, ", seed ",
                             options_.seed, ", budget ", budget_.seconds(),
                             " s, model: ", state_.predictor.Describe()));
    if (options_.xla != nullptr) xla_.emplace(state_);
    // An interruption, or the end of its time, ends the search, and what was found until then is the answer.
    const absl::Status searched = Search(start);
    if (!searched.ok() && !IsOver(searched)) return searched;
    const absl::Status decided = Decide();
    if (!decided.ok() && !IsOver(decided)) return decided;
    SMELT_RETURN_IF_ERROR(xla_ ? WriteXlaAnswer() : WriteAnswer());
    SMELT_RETURN_IF_ERROR(WriteReport());
    return report_;
  }

 private:
  absl::Status Search(const fusion::Config& start) {
    if (budget_.left() <= 0) return absl::DeadlineExceededError("no time is left");
    trials_.runner().SetDeadline(budget_.At(budget_.seconds()));
    state_.Progress("evaluating the program, to compare with");
    const double before = trials_.runner().hardware_seconds();
    SMELT_RETURN_IF_ERROR(trials_.PrepareVerifier(std::max(kEvaluatorShare * budget_.left(), 1e-3)));
    // The default in turn with itself: the first measurement, and its kernels' times.
    SMELT_ASSIGN_OR_RETURN(const TrialResult usual, state_.Measure(trials_.usual()));
    if (!usual.outcome.ok()) {
      return absl::InternalError(absl::StrCat(program_.path, ": the default program cannot be measured: ",
                                              std::string(measure::FailureName(usual.outcome.failure)), ": ",
                                              usual.outcome.message));
    }
    state_.usual_outcome = usual.outcome;
    state_.best_kernels = usual.kernels;
    const double took = trials_.runner().hardware_seconds() - before;
    const double last = FinalSeconds(usual, took);
    state_.Say(absl::StrFormat("about %.0f s: %.1f s preparing, %.1f s searching, %.1f s comparing and verifying",
                               budget_.seconds(), budget_.spent(), budget_.left() - last, last));
    state_.BeginSearch(budget_.seconds() - last);
    if (xla_) SMELT_RETURN_IF_ERROR(xla_->MeasureStarts());
    if (space_.size() > 0) {
      if (options_.mode == TuneMode::kHardware) return SearchHardware(state_, start);
      const double share = options_.tiles               ? kBeforeTilesShare
                           : xla_ && xla_->HasChoices() ? kBeforeXlaChoicesShare
                                                        : 1.0;
      SMELT_RETURN_IF_ERROR(ConfigurationSearch(state_, xla_ ? &*xla_ : nullptr, share).Run(start));
    }
    if (xla_) return xla_->TuneChoices();
    if (options_.tiles && options_.mode == TuneMode::kModel) return TuneTiles();
    return absl::OkStatus();
  }

  // What the comparison and the last verification may take. A process of the comparison starts, loads both programs and
  // times them; what the default took tells how long that is. Kernels of ours are then in the cache, XLA compiles anew.
  double FinalSeconds(const TrialResult& usual, double took) const {
    if (usual.from_records) took = usual.hardware_seconds;
    const double compile = usual.outcome.compile_seconds;
    const double child = xla_ ? took + compile : 2 * std::max(took - compile, 0.0);
    const double left = std::max(budget_.left(), 0.0);
    return std::min((options_.comparison.children + 1) * child,
                    std::max(kFinalShare * left, std::min((kFewestChildren + 1) * child, kMostFinalShare * left)));
  }

  absl::Status TuneTiles() {
    TileSearchOptions search;
    search.target = options_.target;
    search.proceed = [&](const std::string& line) {
      state_.Progress(absl::StrCat(line, "; ", state_.BestSoFar()));
      return state_.BudgetLeft(kTilesShare);
    };
    Trial trial = trials_.best();
    SMELT_ASSIGN_OR_RETURN(const std::vector<TileChoice> choices,
                           SearchTiles(trials_, space_, trial, state_.best_kernels, state_.predictor, search));
    if (choices.empty()) return absl::OkStatus();
    for (const TileChoice& choice : choices) {
      trial.tiles[choice.hash] = choice.tile;
      report_.tiles.push_back({choice.name, choice.default_seconds, choice.seconds, choice.tile});
    }
    return state_.Measure(trial).status();
  }

  // The default, or the best that was measured if it is better beyond doubt. `answer_` and the report's times say
  // which.
  absl::Status Decide() {
    answer_ = trials_.usual();
    if (!state_.usual_outcome) {
      if (!state_.Cancelled()) report_.undecided = TooShort(budget_);
      return absl::OkStatus();
    }
    report_.default_seconds = report_.best_seconds = state_.usual_outcome->median();
    if (trials_.best_outcome() != nullptr) SMELT_RETURN_IF_ERROR(state_.Cancelled() ? TakeOnTrial() : Compare());
    return state_.Cancelled() ? absl::OkStatus() : VerifyAnswer();
  }

  // No time for a comparison: the trial's own rounds, in turn with the default, are all that is known.
  absl::Status TakeOnTrial() {
    const measure::Outcome& outcome = *trials_.best_outcome();
    report_.undecided = "interrupted before the comparison";
    if (outcome.relative() > 1 - measure::kScreeningGain) return absl::OkStatus();
    report_.improved = true;
    report_.best_seconds = outcome.relative() * report_.default_seconds;
    report_.verified = trials_.why_unchecked().empty();  // as every new best was
    answer_ = trials_.best();
    return absl::OkStatus();
  }

  absl::Status Compare() {
    budget_.Enter(measure::Phase::kComparing);
    trials_.runner().SetDeadline(budget_.At(budget_.seconds()));
    state_.Progress(absl::StrCat("comparing with the default; ", state_.BestSoFar()));
    measure::ComparisonOptions comparison = options_.comparison;
    // Another process is begun if there is time for one more like those before.
    const double begin = budget_.spent();
    comparison.proceed = [&](int children) {
      return children == 0 || budget_.left() > 1.3 * (budget_.spent() - begin) / children;
    };
    const measure::Candidate usual = trials_.ToCandidate(trials_.usual());
    std::optional<measure::Candidate> same_library;
    if (xla_ && xla_->own() && trials_.best().compiler.empty())
      same_library = trials_.ToCandidate({*xla_->own(), trials_.best().tiles, 0});
    absl::StatusOr<measure::Comparison> compared =
        measure::CompareInterleaved(trials_.runner(), usual, trials_.ToCandidate(trials_.best()), comparison,
                                    same_library ? &*same_library : nullptr);
    if (state_.Cancelled()) return TakeOnTrial();
    if (absl::IsDeadlineExceeded(compared.status()) || (compared.ok() && compared->children == 1)) {
      report_.undecided = "there was no time to compare the best with the default";
      return absl::OkStatus();
    }
    if (!compared.ok()) return compared.status();
    report_.compared = *compared;
    report_.default_seconds = report_.best_seconds = compared->usual_seconds;
    report_.improved = compared->better;
    if (!compared->better) return absl::OkStatus();
    report_.best_seconds = compared->tuned_seconds;
    report_.xla.same_library_seconds = compared->other_seconds;
    answer_ = trials_.best();
    return absl::OkStatus();
  }

  absl::Status VerifyAnswer() {
    budget_.Enter(measure::Phase::kVerifying);
    trials_.runner().SetDeadline(budget_.At(budget_.seconds()));
    absl::StatusOr<Trials::Check> check = trials_.Verify(answer_);
    if (absl::IsDeadlineExceeded(check.status())) {
      report_.verified = report_.improved && trials_.why_unchecked().empty();  // as every new best was
      return absl::OkStatus();
    }
    if (!check.ok()) return check.status();
    if (check->Refutes() && report_.improved) {
      // Right when it became the best and wrong now: nothing to rely on.
      trials_.Log(absl::StrCat("the tuned program differs from the evaluator: ", check->difference));
      report_.improved = false;
      report_.best_seconds = report_.default_seconds;
      answer_ = trials_.usual();
      check = trials_.Verify(answer_);
      if (!check.ok()) return check.status();
    }
    report_.verified = check->verdict == Trials::Verdict::kRight;
    report_.difference = check->difference;
    if (!check->difference.empty())
      trials_.Log(absl::StrCat("the default differs from the evaluator: ", check->difference));
    return absl::OkStatus();
  }

  absl::Status WriteAnswer() {
    if (answer_.tiles.empty()) report_.tiles.clear();
    const std::unique_ptr<hlo::Module> tuned = fusion::Apply(space_, answer_.config);
    SMELT_RETURN_IF_ERROR(WriteProgram(*tuned));
    if (!report_.improved) return absl::OkStatus();
    return NameChangedKernels(*fusion::Apply(space_, trials_.usual().config), *tuned, &report_);
  }

  // Where the answer is XLA's own choice, there is no configuration.
  absl::Status WriteXlaAnswer() {
    report_.xla.answer = answer_.compiler.empty() ? "as_given" : answer_.compiler;
    std::error_code ignored;
    for (const char* name : {kConfigFile, kProgramFile}) std::filesystem::remove(trials_.Path(name), ignored);
    if (!answer_.compiler.empty()) return absl::OkStatus();
    for (const auto& [key, tile] : answer_.tiles)
      (tile == xla::kLibraryTile ? report_.xla.library
       : tile == xla::kCallTile  ? report_.xla.called
                                 : report_.xla.uncut)
          .push_back(xla_->Name(key));
    return WriteProgram(*xla::LoopFusionProgram(space_, answer_.config, answer_.tiles, options_.target.threads));
  }

  absl::Status WriteProgram(const hlo::Module& tuned) {
    report_.best_predicted = report_.default_predicted;
    if (report_.improved) {
      SMELT_ASSIGN_OR_RETURN(report_.best_predicted, state_.Predict(answer_.config));
    }
    fusion::SavedConfig saved{answer_.config, report_.best_predicted, {}, answer_.tiles};
    saved.target = {space_.target().name, options_.target.name, options_.target.threads};
    if (report_.best_seconds > 0) saved.measured_seconds = report_.best_seconds;
    SMELT_RETURN_IF_ERROR(fusion::SaveConfig(trials_.Path(kConfigFile), space_, saved));
    return WriteFile(trials_.Path(kProgramFile), hlo::ToText(tuned, {}));
  }

  absl::Status WriteReport() {
    report_.unchecked = trials_.why_unchecked();
    report_.noisy = trials_.noisy();
    report_.interrupted = state_.Cancelled();
    report_.measured = trials_.measured();
    report_.known = trials_.known();
    report_.failed = trials_.failed();
    report_.hardware_seconds = trials_.hardware_seconds();
    report_.known_seconds = trials_.known_seconds();
    return WriteFile(trials_.Path(kReportFile), FormatReport(program_.path, options_, report_, budget_));
  }

  const targets::Program& program_;
  const fusion::Space& space_;
  const TuneOptions& options_;
  measure::Budget& budget_;
  SessionState state_;
  Trials& trials_;
  TuneReport& report_;
  std::optional<SessionSteps> xla_;  // --target=xla
  Trial answer_;
};

}  // namespace

double TuneReport::speedup() const {
  if (!improved) return 1;
  return compared ? std::exp(compared->gain) : default_seconds / best_seconds;
}

absl::StatusOr<TuneReport> KeepXlasOwnChoice(const std::string& path, const TuneOptions& options,
                                             const measure::Budget& budget) {
  TuneReport report;
  report.undecided = TooShort(budget);
  report.xla.answer = "xla";
  const std::filesystem::path folder = options.folder;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  for (const char* name : {kConfigFile, kProgramFile}) std::filesystem::remove(folder / name, ignored);
  SMELT_RETURN_IF_ERROR(WriteFile((folder / kReportFile).string(), FormatReport(path, options, report, budget)));
  return report;
}

absl::StatusOr<TuneReport> Tune(const targets::Program& program, const TuneOptions& options, gnn::Predictor& predictor,
                                measure::Budget& budget) {
  if (options.xla != nullptr) {
    if (budget.left() <= 0) return KeepXlasOwnChoice(program.path, options, budget);
    SMELT_ASSIGN_OR_RETURN(const fusion::Space space, xla::XlaSpace(program));
    return Session(program, space, options, predictor, budget, {fusion::Config(space.size()), {}, 0, "xla"}).Run();
  }
  SMELT_ASSIGN_OR_RETURN(const fusion::Space space, fusion::Space::Build(program.module(), options.rules));
  SMELT_ASSIGN_OR_RETURN(fusion::Config usual, targets::FusionConfig(space, program.flat, "priority", options.target));
  return Session(program, space, options, predictor, budget, {std::move(usual), {}, 0}).Run();
}

}  // namespace smelt::tuner
