#include "tuner/session.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "fusion/config_file.h"
#include "hlo/text/printer.h"
#include "measure/comparison.h"
#include "targets/schedule_library.h"
#include "tuner/configuration_search.h"
#include "tuner/hardware_search.h"
#include "tuner/schedule/side_by_side.h"
#include "tuner/schedule_search.h"
#include "tuner/session_report.h"
#include "tuner/session_state.h"
#include "tuner/session_steps.h"
#include "tuner/tile_search.h"

namespace smelt::tuner {
namespace {

// Shares of the search's time that configurations may take; the rest is for tiles, or for kernels and loops tried one
// by one in their other ways, in the best program. The program with the best tiles is timed in what those leave.
constexpr double kBeforeTilesShare = 0.5, kTilesShare = 0.7, kSchedulesShare = 0.95, kBeforeKnobsShare = 0.8;
// Where there is time for so few trials of the program, configurations leave more to tiles, for which kernels alone are
// timed: of a ResNet-50 in 40 s five configurations gain up to 2 %, tiles of its heaviest kernels 18 to 22 %.
constexpr double kFewTrials = 24, kFewBeforeTilesShare = 0.3;
// Trials of the program with what was found of its tiles, and then of its schedules, must fit into what these leave.
constexpr double kTrialsAfterTiles = 2, kTrialsAfterSchedules = 1.2;
// The evaluator's share of the time that there is.
constexpr double kEvaluatorShare = 0.25;
// The comparison gets what it needs of what is left when the default is measured, but not more than this, and half of
// it for a gain that all its processes may not tell; where that is too little for the fewest processes that can tell a
// large gain, as much as these need, within limits.
constexpr double kFinalShare = 0.4, kSmallGainShare = 0.2, kMostFinalShare = 0.8;
constexpr int kFewestChildren = 3;
constexpr int kChildrenForALateFind = 2;
// How much longer a process takes that times another compiler's own fusions too, which is there to be told of.
constexpr double kThreeShare = 1.5;
constexpr int kMostThreads = 8;  // of choosing schedules
// A kernel that is so many times as fast alone in another way is not tried without it in the program.
constexpr double kBeyondDoubt = 1.5;

constexpr char kConfigFile[] = "best.fusion.json", kProgramFile[] = "fused.hlo", kReportFile[] = "report.txt";

std::string TooShort(const measure::Budget& budget) {
  return absl::StrFormat("%g s are too short to measure even the default", budget.seconds());
}

// Removes what an earlier run wrote, where the answer is now no configuration.
void RemoveAnswer(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* name : {kConfigFile, kProgramFile}) std::filesystem::remove(folder / name, ignored);
}

bool IsOver(const absl::Status& status) { return absl::IsCancelled(status) || absl::IsDeadlineExceeded(status); }

class Session {
 public:
  Session(const targets::Tunable& tunable, const TuneOptions& options, gnn::Predictor& predictor,
          measure::Budget& budget)
      : tunable_(tunable),
        program_(tunable.program()),
        space_(tunable.space()),
        options_(options),
        budget_(budget),
        state_(tunable, options, predictor, budget),
        trials_(state_.trials),
        report_(state_.report) {}

  absl::StatusOr<TuneReport> Run() {
    SMELT_RETURN_IF_ERROR(trials_.Open(options_.folder));
    if (DefaultIsOurs()) {
      SMELT_ASSIGN_OR_RETURN(report_.default_predicted, state_.Predict(trials_.usual().config));
    }
    const std::string spec = options_.start == "random" ? absl::StrCat("random:", options_.seed) : options_.start;
    fusion::Config start = trials_.usual().config;  // `priority`, where it is ours
    if (!DefaultIsOurs() || spec != "priority") {
      SMELT_ASSIGN_OR_RETURN(Trial named, tunable_.Named(spec));
      start = std::move(named.config);
    }
    trials_.Log(absl::StrCat(program_.path, ": ", space_.size(), " decisions, start ", options_.start, ", seed ",
                             options_.seed, ", budget ", budget_.seconds(),
                             " s, model: ", state_.predictor.Describe()));
    for (const std::string& note : tunable_.notes()) trials_.Log(note);
    if (tunable_.TimesKernelsAlone()) steps_.emplace(state_);
    // An interruption, or the end of its time, ends the search, and what was found until then is the answer.
    const absl::Status searched = Search(start);
    if (!searched.ok() && !IsOver(searched)) return searched;
    const absl::Status decided = Decide();
    if (!decided.ok() && !IsOver(decided)) return decided;
    SMELT_RETURN_IF_ERROR(WriteAnswer());
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
      const auto code =
          measure::IsLasting(usual.outcome.failure) ? absl::StatusCode::kUnimplemented : absl::StatusCode::kUnavailable;
      return absl::Status(
          code, absl::StrCat(program_.path, ": the default program cannot be measured: ",
                             std::string(measure::FailureName(usual.outcome.failure)), ": ", usual.outcome.message));
    }
    state_.usual_outcome = usual.outcome;
    state_.best_kernels = usual.kernels;
    const double took = trials_.runner().hardware_seconds() - before;
    usual_child_seconds_ = UsualChildSeconds(usual, took);
    const double left = std::max(budget_.left(), 0.0), last = FinalSeconds(left);
    state_.Say(absl::StrFormat("about %.0f s: %.1f s preparing, %.1f s searching, %.1f s comparing and verifying",
                               budget_.seconds(), budget_.spent(), budget_.left() - last, last));
    trials_in_time_ = std::max((left - last) / std::max(ChildSeconds(), 1e-9), 1e-9);
    state_.BeginSearch([this, left] { return budget_.seconds() - FinalSeconds(left); });
    if (steps_) SMELT_RETURN_IF_ERROR(steps_->MeasureStarts());
    if (space_.size() > 0) {
      if (options_.mode == TuneMode::kHardware) return SearchHardware(state_, HardwareStart(start));
      SMELT_RETURN_IF_ERROR(ConfigurationSearch(state_, steps_ ? &*steps_ : nullptr, ConfigurationsShare()).Run(start));
    }
    if (steps_) SMELT_RETURN_IF_ERROR(steps_->TuneChoices());
    if (TunesTiles()) SMELT_RETURN_IF_ERROR(TuneTiles());
    return TunesTiles() && options_.schedules ? TuneSchedules() : absl::OkStatus();
  }

  // The best that the steps measured where there are steps, knobs included.
  Trial HardwareStart(const fusion::Config& start) const {
    if (!steps_ || !steps_->start()) return {start, {}, 0, ""};
    return trials_.best_outcome() != nullptr && trials_.best().compiler.empty() ? trials_.best()
                                                                                : Trial{*steps_->start(), {}, 0, ""};
  }

  bool DefaultIsOurs() const { return trials_.usual().compiler.empty(); }
  bool TunesTiles() const {
    return options_.tiles && options_.mode == TuneMode::kModel && tunable_.target().HasTiles();
  }

  // Their share of the search's time.
  double ConfigurationsShare() const {
    if (TunesTiles()) return trials_in_time_ < kFewTrials ? kFewBeforeTilesShare : kBeforeTilesShare;
    return steps_ && !tunable_.knobs().empty() ? kBeforeKnobsShare : 1;
  }

  // A process of the comparison starts, loads both programs and times them. What the default took tells how long that
  // is but for compiling the other one: it was loaded once, and timed in turn with itself. Where code is kept, nothing
  // is compiled anew.
  double UsualChildSeconds(const TrialResult& usual, double took) const {
    if (usual.from_records) took = usual.hardware_seconds;
    if (!tunable_.target().KeepsCode()) return took;
    double timing = 0;
    for (const auto* samples : {&usual.outcome.seconds, &usual.outcome.reference_seconds})
      timing = std::accumulate(samples->begin(), samples->end(), timing);
    return timing + 2 * std::max(took - usual.outcome.compile_seconds - timing, 0.0);
  }
  double ChildSeconds() const {
    if (tunable_.target().KeepsCode()) return usual_child_seconds_;
    const measure::Outcome* best = trials_.best_outcome();
    return usual_child_seconds_ +
           std::max(state_.usual_outcome->compile_seconds, best == nullptr ? 0 : best->compile_seconds);
  }

  // How many processes the comparison is to have. As long as nothing is faster there is nothing to compare, and what is
  // found then has as many as are left.
  int Children() const {
    if (!tunable_.target().TimesVary()) return 0;
    if (trials_.best_relative() >= 1) return kChildrenForALateFind;
    return measure::ChildrenToTell(-std::log(trials_.best_relative()), options_.comparison.children);
  }

  // What the comparison and the last verification may take of what was left when the search began. A large gain, which
  // few processes tell, leaves the search more.
  double FinalSeconds(double left) const {
    const double child = ChildSeconds();
    const int children = Children();
    const double share = children < options_.comparison.children ? kFinalShare : kSmallGainShare;
    return std::min((children + 1) * child,
                    std::max(share * left, std::min((kFewestChildren + 1) * child, kMostFinalShare * left)));
  }

  absl::Status TuneTiles() {
    TileSearchOptions search;
    search.machine = tunable_.target().machine();
    search.proceed = [&](const std::string& line) {
      state_.Progress(absl::StrCat(line, "; ", state_.BestSoFar()));
      return state_.BudgetLeft(std::min(kTilesShare, 1 - kTrialsAfterTiles / trials_in_time_));
    };
    const Trial trial = trials_.best();
    SMELT_ASSIGN_OR_RETURN(const std::vector<TileChoice> choices,
                           SearchTiles(trials_, space_, trial, state_.best_kernels, state_.predictor, search));
    return TryWays(trial, choices);
  }

  absl::Status TuneSchedules() {
    ScheduleSearchOptions search{
        .machine = tunable_.target().machine(), .threads = UsableThreads(kMostThreads), .seed = options_.seed};
    const targets::ScheduleLibrary library(tunable_.target(), options_.library);
    search.kept = [&](const Hash128& kernel) {
      const std::optional<targets::TunedSchedule> kept = library.Find(kernel);
      return kept ? kept->way : "";
    };
    search.proceed = [&](const std::string& line) {
      state_.Progress(absl::StrCat(line, "; ", state_.BestSoFar()));
      return state_.BudgetLeft(std::min(kSchedulesShare, 1 - kTrialsAfterSchedules / trials_in_time_));
    };
    const Trial trial = trials_.best();
    SMELT_ASSIGN_OR_RETURN(const std::vector<TileChoice> choices,
                           SearchSchedules(trials_, space_, trial, state_.best_kernels, search));
    return TryWays(trial, choices);
  }

  // The program with these ways of its kernels, all together and then each.
  absl::Status TryWays(Trial trial, const std::vector<TileChoice>& choices) {
    if (choices.empty()) return absl::OkStatus();
    tile_choices_.insert(tile_choices_.end(), choices.begin(), choices.end());
    targets::KnobChoices tiles;
    for (const TileChoice& choice : choices) {
      trial.tiles[choice.hash] = choice.tile;
      tiles[choice.hash] = {choice.tile};
    }
    SMELT_RETURN_IF_ERROR(state_.Measure(trial).status());
    // A tile that is a little faster alone need not be so where its kernel stands.
    for (const TileChoice& choice : choices) {
      if (choice.seconds * kBeyondDoubt < choice.default_seconds) tiles.erase(choice.hash);
    }
    return TryOneByOne(state_, tiles);
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
    if (outcome.relative() >= 1 - trials_.ScreeningGain()) return absl::OkStatus();
    report_.improved = true;
    report_.best_seconds = outcome.relative() * report_.default_seconds;
    report_.verified = trials_.why_unchecked().empty();  // as every new best was
    answer_ = trials_.best();
    return absl::OkStatus();
  }

  absl::Status Compare() {
    budget_.Enter(measure::Phase::kComparing);
    if (!tunable_.target().TimesVary()) {
      // What was measured is as true as it would be again.
      const measure::Outcome& best = *trials_.best_outcome();
      TakeComparison(measure::CompareRounds({best.reference_seconds}, {best.seconds}, /*exact=*/true));
      return absl::OkStatus();
    }
    trials_.runner().SetDeadline(budget_.At(budget_.seconds()));
    state_.Progress(absl::StrCat("comparing with the default; ", state_.BestSoFar()));
    measure::ComparisonOptions comparison = options_.comparison;
    // Another process is begun if there is time for one more like those before.
    const double begin = budget_.spent();
    comparison.proceed = [&](int children) {
      return children == 0 || budget_.left() > 1.3 * (budget_.spent() - begin) / children;
    };
    const measure::Candidate usual = trials_.ToCandidate(trials_.usual());
    std::optional<measure::Candidate> own_fusions;
    const bool time_for_three = budget_.left() > kThreeShare * (Children() + 1) * ChildSeconds();
    if (tunable_.own_fusions() && trials_.best().compiler.empty() && time_for_three)
      own_fusions = trials_.ToCandidate({*tunable_.own_fusions(), trials_.best().tiles, 0});
    absl::StatusOr<measure::Comparison> compared =
        measure::CompareInterleaved(trials_.runner(), usual, trials_.ToCandidate(trials_.best()), comparison,
                                    own_fusions ? &*own_fusions : nullptr);
    if (state_.Cancelled()) return TakeOnTrial();
    if (absl::IsDeadlineExceeded(compared.status()) || (compared.ok() && compared->children == 1)) {
      report_.undecided = "there was no time to compare the best with the default";
      return absl::OkStatus();
    }
    if (!compared.ok()) return compared.status();
    TakeComparison(*compared);
    return absl::OkStatus();
  }

  void TakeComparison(const measure::Comparison& compared) {
    report_.compared = compared;
    report_.default_seconds = report_.best_seconds = compared.usual_seconds;
    report_.improved = compared.better;
    if (!compared.better) return;
    report_.best_seconds = compared.tuned_seconds;
    report_.own_fusions_seconds = compared.other_seconds;
    answer_ = trials_.best();
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

  // Where the answer is another compiler's own program, there is no configuration.
  absl::Status WriteAnswer() {
    for (const TileChoice& choice : tile_choices_) {
      const auto found = answer_.tiles.find(choice.hash);
      if (found != answer_.tiles.end() && found->second == choice.tile)
        report_.tiles.push_back({choice.name, choice.default_seconds, choice.seconds, choice.tile});
    }
    report_.chosen = answer_;
    report_.compiler = tunable_.CompilerName();
    report_.answer = answer_.compiler;
    if (!answer_.compiler.empty()) {
      report_.answer_words = tunable_.AnswerWords(answer_.compiler);
      RemoveAnswer(options_.folder);
      return absl::OkStatus();
    }
    for (const auto& [key, way] : answer_.tiles) {
      if (tunable_.knobs().contains(key))
        report_.knobs.push_back({tunable_.NameOf(key), way, tunable_.Words(key, way)});
    }
    const std::unique_ptr<hlo::Module> tuned = tunable_.Fused(answer_);
    SMELT_RETURN_IF_ERROR(WriteProgram(*tuned));
    if (!report_.improved || !DefaultIsOurs()) return absl::OkStatus();
    return NameChangedKernels(*tunable_.Fused(trials_.usual()), *tuned, &report_);
  }

  absl::Status WriteProgram(const hlo::Module& tuned) {
    report_.best_predicted = report_.default_predicted;
    if (report_.improved) {
      SMELT_ASSIGN_OR_RETURN(report_.best_predicted, state_.Predict(answer_.config));
    }
    fusion::SavedConfig saved{answer_.config, report_.best_predicted, {}, answer_.tiles};
    saved.target = tunable_.target().id();
    saved.target.kind = space_.rules().name;  // another's, where kernels of ours are for calls from its program
    if (report_.best_seconds > 0) saved.measured_seconds = report_.best_seconds;
    SMELT_RETURN_IF_ERROR(fusion::SaveConfig(trials_.Path(kConfigFile), space_, saved));
    return WriteFile(trials_.Path(kProgramFile), hlo::ToText(tuned, {}));
  }

  absl::Status WriteReport() {
    if (steps_ && DefaultIsOurs()) {
      SMELT_ASSIGN_OR_RETURN(report_.alone, steps_->KernelsOf(*tunable_.Fused(trials_.usual())));
    }
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

  const targets::Tunable& tunable_;
  const targets::Program& program_;
  const fusion::Space& space_;
  const TuneOptions& options_;
  measure::Budget& budget_;
  SessionState state_;
  Trials& trials_;
  TuneReport& report_;
  std::optional<SessionSteps> steps_;
  double usual_child_seconds_ = 0;
  double trials_in_time_ = 0;             // that fit into the search, about as long as a process of the comparison
  std::vector<TileChoice> tile_choices_;  // of kernels alone
  Trial answer_;
};

}  // namespace

double TuneReport::speedup() const {
  if (!improved) return 1;
  return compared ? std::exp(compared->gain) : default_seconds / best_seconds;
}

absl::StatusOr<TuneReport> KeepDefault(const std::string& path, const targets::CompilersOwn& own,
                                       const TuneOptions& options, const measure::Budget& budget) {
  TuneReport report;
  report.undecided = TooShort(budget);
  report.compiler = own.compiler;
  report.answer = own.answer;
  report.answer_words = own.words;
  std::error_code ignored;
  std::filesystem::create_directories(options.folder, ignored);
  RemoveAnswer(options.folder);
  const std::string file = (std::filesystem::path(options.folder) / kReportFile).string();
  SMELT_RETURN_IF_ERROR(WriteFile(file, FormatReport(path, options, report, budget)));
  return report;
}

absl::StatusOr<TuneReport> Tune(const targets::Tunable& tunable, const TuneOptions& options, gnn::Predictor& predictor,
                                measure::Budget& budget) {
  const Trial& usual = tunable.usual();
  if (!usual.compiler.empty() && budget.left() <= 0) {
    return KeepDefault(tunable.program().path,
                       {tunable.CompilerName(), usual.compiler, tunable.AnswerWords(usual.compiler)}, options, budget);
  }
  return Session(tunable, options, predictor, budget).Run();
}

}  // namespace smelt::tuner
