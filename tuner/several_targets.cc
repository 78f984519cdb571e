#include "tuner/several_targets.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "fusion/kernel.h"
#include "targets/tunable.h"
#include "tuner/contenders.h"

namespace smelt::tuner {
namespace {

// The share of the budget that comparing the answers may take.
constexpr double kFinalShare = 0.2;
constexpr int kLeastChildren = 2;       // fewer sets of devices tell nothing
constexpr double kSliceSeconds = 0.05;  // of one device, before the next has its turn
constexpr int kSlices = 6;              // of each device in one set
// A look at the defaults before anything is searched: the share of the budget that one may take, and that one may whose
// code is kept: what was compiled for its look serves its session.
constexpr double kLookShare = 0.25, kKeptLookShare = 0.4;
// Preparing a target, which under a foreign compiler is several compilations, takes at most so much of the budget, or
// it has no session; and about so many times as long as the look at a default that was not prepared for it.
constexpr double kPrepareShare = 0.25;
constexpr double kPrepareLooks = 2;

// An entrant with an answer.
struct Finalist {
  size_t entrant;
  const targets::Target* target;
  std::unique_ptr<targets::Tunable> tunable;
  measure::Candidate answer, usual;
  bool answer_is_usual = false;
};

class Contest {
 public:
  Contest(const std::string& path, const std::vector<Entrant>& entrants, const TuneOptions& options,
          measure::Budget& budget)
      : path_(path), entrants_(entrants), options_(options), budget_(budget) {}

  absl::StatusOr<SeveralReport> Run() {
    // A model that is not one of all these targets is told before any time is spent.
    for (const Entrant& entrant : entrants_) {
      SMELT_ASSIGN_OR_RETURN(predictors_.emplace_back(), entrant.open_predictor(*entrant.target));
      report_.entrants.emplace_back().name = entrant.name;
    }
    budget_.Enter(measure::Phase::kPreparing);
    LookAtDefaults();
    PassOverHopeless();
    SMELT_RETURN_IF_ERROR(PrepareAll());
    budget_.Enter(measure::Phase::kSearching);
    for (size_t i = 0; i < entrants_.size() && !Cancelled(); ++i) {
      if (tunables_[i] != nullptr) SMELT_RETURN_IF_ERROR(RunSession(i));
    }
    if (finalists_.empty()) {
      SMELT_RETURN_IF_ERROR(KeepADefault());
    } else {
      if (finalists_.size() > 1 && !Cancelled()) SMELT_RETURN_IF_ERROR(Compare());
      if (report_.winner < 0) DecideWithoutComparison();
    }
    const std::string file = (std::filesystem::path(options_.folder) / "report.txt").string();
    SMELT_RETURN_IF_ERROR(WriteFile(file, FormatReport(path_, options_, report_, budget_)));
    return std::move(report_);
  }

 private:
  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  void Say(const std::string& line) const {
    if (options_.progress != nullptr) options_.progress->Say(line);
  }

  std::string FolderOf(size_t i) const { return (std::filesystem::path(options_.folder) / entrants_[i].name).string(); }
  // A share of the time that is left for sessions; answers of several are compared in the end.
  double PartOf(double share, bool alone) const {
    return std::max((budget_.left() - (alone ? 0 : kFinalShare * budget_.seconds())) * share, 0.0);
  }
  // An entrant's share of what all those have whose sessions are still to come.
  double ShareOf(size_t i) const {
    double weights = 0;
    for (size_t k = 0; k < entrants_.size(); ++k) weights += tunables_[k] != nullptr ? parts_[k].weight : 0;
    return parts_[i].weight / weights;
  }
  int64_t Ready() const {
    return std::count_if(tunables_.begin(), tunables_.end(), [](const auto& tunable) { return tunable != nullptr; });
  }
  bool IsOut(size_t i) const { return !report_.entrants[i].status.ok(); }

  void Prepare(size_t i) {
    std::vector<std::string> notes;
    absl::StatusOr<std::unique_ptr<targets::Tunable>> tunable =
        entrants_[i].target->Prepare(path_, FolderOf(i), measure::Budget(kPrepareShare * budget_.seconds()), &notes);
    for (const std::string& note : notes) Say(note);
    report_.entrants[i].status = tunable.status();
    if (tunable.ok()) tunables_[i] = *std::move(tunable);
  }

  // Those that a look at the defaults left. An entrant that cannot run the program leaves it to the others. Fails where
  // none can.
  absl::Status PrepareAll() {
    for (size_t i = 0; i < entrants_.size() && !Cancelled(); ++i) {
      if (tunables_[i] == nullptr && !IsOut(i)) Prepare(i);
    }
    const bool none = Ready() == 0 && !Cancelled();
    for (const EntrantReport& entrant : report_.entrants) {
      if (entrant.status.ok()) continue;
      if (none) return entrant.status;
      Say(absl::StrCat(entrant.name, ": ", std::string(entrant.status.message())));
    }
    return absl::OkStatus();
  }

  // The default of one entrant, timed for a moment; 0: not known.
  double SecondsOfDefault(size_t i, const measure::Candidate& usual) const {
    const targets::Target& target = *entrants_[i].target;
    measure::MeasurePolicy policy = options_.policy;
    policy.build_timeout = target.BuildSeconds().value_or(policy.build_timeout);
    measure::Runner runner(target.NewDevice(targets::DeviceUse::kTimes), policy, options_.cancel);
    const double share = target.KeepsCode() ? kKeptLookShare : kLookShare;
    runner.SetDeadline(budget_.At(budget_.spent() + share * budget_.seconds()));
    const measure::Outcome outcome = runner.TimePrograms({usual}, 1, kSliceSeconds).front();
    return outcome.ok() ? outcome.median() : 0;
  }

  // What the model says of a default that could not be timed in time; 0: nothing, or another compiler made it.
  double PredictedSeconds(size_t i) const {
    const targets::Trial& usual = tunables_[i]->usual();
    if (!usual.compiler.empty()) return 0;
    std::vector<fusion::KernelCount> counts;
    const auto kernels = fusion::ExtractKernels(*tunables_[i]->Fused(usual), &counts);
    if (!kernels.ok()) return 0;
    double total = 0;
    for (size_t k = 0; k < kernels->size(); ++k) {
      const absl::StatusOr<double> seconds = predictors_[i]->PredictSeconds((*kernels)[k]);
      if (!seconds.ok()) return 0;
      total += *seconds * counts[k].runs;
    }
    return total;
  }

  // Every entrant's default, prepared where only that makes it known.
  void LookAtDefaults() {
    tunables_.resize(entrants_.size());
    looks_.resize(entrants_.size());
    parts_.resize(entrants_.size());
    for (size_t i = 0; i < entrants_.size() && !Cancelled(); ++i) {
      Contender& mine = looks_[i];
      mine.name = entrants_[i].name;
      const double begin = budget_.spent();
      absl::StatusOr<measure::Candidate> usual = entrants_[i].target->Default(path_);
      if (!usual.ok()) {
        Prepare(i);
        if (tunables_[i] == nullptr) continue;
        usual = tunables_[i]->ToCandidate(tunables_[i]->usual());
      }
      if (entrants_.size() > 1) mine.seconds = SecondsOfDefault(i, *usual);
      if (mine.seconds == 0 && tunables_[i] != nullptr) mine.seconds = PredictedSeconds(i);
      mine.begun = budget_.spent() - begin;
      if (tunables_[i] == nullptr) mine.begun *= 1 + kPrepareLooks;
    }
  }

  // The time of a target that is not worth a session goes to the others. The fastest must be ready before others make
  // room for it.
  void PassOverHopeless() {
    std::vector<size_t> which;
    std::vector<Contender> contenders;
    for (bool again = true; again && !Cancelled();) {
      which.clear();
      contenders.clear();
      for (size_t i = 0; i < entrants_.size(); ++i) {
        if (IsOut(i)) continue;
        which.push_back(i);
        contenders.push_back(looks_[i]);
      }
      const size_t fastest = Fastest(contenders);
      again = fastest < which.size() && tunables_[which[fastest]] == nullptr;
      if (again) Prepare(which[fastest]);
    }
    if (which.size() < 2 || Cancelled()) return;
    const std::vector<Part> parts = ShareOut(contenders, PartOf(1, false));
    for (size_t k = 0; k < which.size(); ++k) {
      const size_t i = which[k];
      parts_[i] = parts[k];
      if (parts[k].why_none.empty()) continue;
      report_.entrants[i].status = absl::FailedPreconditionError(parts[k].why_none);
      tunables_[i].reset();
    }
  }

  // Fails only where the entrant's folder cannot be kept.
  absl::Status RunSession(size_t i) {
    EntrantReport& mine = report_.entrants[i];
    measure::Budget part(PartOf(ShareOf(i), Ready() == 1 && finalists_.empty()));
    std::unique_ptr<targets::Tunable> program = std::move(tunables_[i]);
    TuneOptions options = options_;
    options.folder = FolderOf(i);
    Say(absl::StrFormat("%s: about %.0f s", mine.name, part.seconds()));
    mine.model = predictors_[i]->Describe();
    absl::StatusOr<TuneReport> tuned = Tune(*program, options, *predictors_[i], part);
    mine.status = tuned.status();
    if (tuned.ok()) mine.report = *std::move(tuned);
    if (!mine.status.ok()) {
      Say(absl::StrCat(mine.name, ": ", std::string(mine.status.message())));
      return absl::OkStatus();
    }
    // An answer that differs from the evaluator's is none, and one that was not measured says nothing.
    if (!mine.report.difference.empty() || mine.report.default_seconds == 0) return absl::OkStatus();
    Finalist finalist{.entrant = i, .target = entrants_[i].target};
    finalist.answer = program->ToCandidate(mine.report.chosen);
    finalist.usual = program->ToCandidate(program->usual());
    finalist.answer_is_usual = !mine.report.improved;
    finalist.tunable = std::move(program);
    finalists_.push_back(std::move(finalist));
    return absl::OkStatus();
  }

  // What a user has today: another compiler's default, or else the first entrant's.
  size_t Baseline() const {
    for (size_t f = 0; f < finalists_.size(); ++f) {
      if (!finalists_[f].tunable->CompilerName().empty()) return f;
    }
    return 0;
  }

  absl::Status Compare() {
    budget_.Enter(measure::Phase::kComparing);
    const size_t baseline = Baseline();
    const std::string compiler = finalists_[baseline].tunable->CompilerName();
    report_.baseline = compiler.empty()
                           ? absl::StrCat(report_.entrants[finalists_[baseline].entrant].name, "'s default")
                           : absl::StrCat(compiler, "'s own choice");
    std::vector<std::vector<double>> usual;                                    // by set of devices
    std::vector<std::vector<std::vector<double>>> answers(finalists_.size());  // by finalist and set
    const double begin = budget_.spent();
    for (int set = 0; set < options_.comparison.children && !Cancelled(); ++set) {
      const double each = set == 0 ? 0 : (budget_.spent() - begin) / set;
      if (set > 0 && budget_.left() < each) break;
      if (options_.progress != nullptr) options_.progress->Update(absl::StrCat("comparing the answers, set ", set + 1));
      std::vector<double> usual_rounds;
      std::vector<std::vector<double>> rounds(finalists_.size());
      SMELT_ASSIGN_OR_RETURN(const bool all, TimeOneSet(baseline, &usual_rounds, &rounds));
      if (!all) break;
      usual.push_back(std::move(usual_rounds));
      for (size_t f = 0; f < finalists_.size(); ++f) answers[f].push_back(std::move(rounds[f]));
    }
    if (static_cast<int>(usual.size()) < kLeastChildren) {
      report_.undecided = "there was no time to compare the answers with each other";
      return absl::OkStatus();
    }
    std::vector<measure::Comparison> beside;  // the baseline's default and each answer
    for (size_t f = 0; f < finalists_.size(); ++f) {
      beside.push_back(measure::CompareRounds(usual, answers[f]));
      report_.entrants[finalists_[f].entrant].seconds = beside[f].tuned_seconds;
    }
    report_.baseline_seconds = beside[baseline].usual_seconds;
    const auto fastest =
        std::max_element(beside.begin(), beside.end(), [](const auto& a, const auto& b) { return a.gain < b.gain; });
    const auto best = static_cast<size_t>(fastest - beside.begin());
    // What is not beyond doubt faster than the baseline is no answer; the baseline's own session may have shown its
    // own.
    const size_t winner = fastest->better ? best : baseline;
    report_.winner = static_cast<int>(finalists_[winner].entrant);
    if (best != baseline || !finalists_[best].answer_is_usual) report_.compared = *fastest;
    return absl::OkStatus();
  }

  // New devices, one a finalist, whose turns are short. False: no time is left, or an answer that ran before fails now.
  absl::StatusOr<bool> TimeOneSet(size_t baseline, std::vector<double>* usual,
                                  std::vector<std::vector<double>>* answers) {
    std::vector<std::unique_ptr<measure::Runner>> runners;
    for (const Finalist& finalist : finalists_) {
      measure::MeasurePolicy policy = options_.policy;
      policy.build_timeout = finalist.target->BuildSeconds().value_or(policy.build_timeout);
      runners.push_back(std::make_unique<measure::Runner>(finalist.target->NewDevice(targets::DeviceUse::kTimes),
                                                          policy, options_.cancel));
      runners.back()->SetDeadline(budget_.At(budget_.seconds()));
    }
    for (int slice = 0; slice < kSlices; ++slice) {
      for (size_t f = 0; f < finalists_.size(); ++f) {
        const Finalist& finalist = finalists_[f];
        const measure::Candidate& beside = f == baseline ? finalist.usual : finalist.answer;
        const measure::Outcome outcome = runners[f]->TimeProgram(finalist.answer, beside, 1, kSliceSeconds, 0).outcome;
        if (!outcome.ok()) {
          if (!runners[f]->out_of_time() && !Cancelled() && options_.progress != nullptr)
            Say(absl::StrCat(report_.entrants[finalist.entrant].name, ": ", outcome.message));
          return false;
        }
        (*answers)[f].push_back(outcome.median());
        if (f == baseline) usual->push_back(measure::Median(outcome.reference_seconds));
      }
    }
    return true;
  }

  // Nothing was measured: the answer is a default that nothing speaks against.
  absl::Status KeepADefault() {
    absl::Status why = absl::CancelledError("interrupted");
    for (size_t i = 0; i < report_.entrants.size(); ++i) {
      const EntrantReport& entrant = report_.entrants[i];
      if (entrant.status.ok() && entrant.report.difference.empty()) {
        report_.winner = static_cast<int>(i);
        report_.undecided = entrant.report.undecided.empty() ? "interrupted" : entrant.report.undecided;
        return absl::OkStatus();
      }
      why = entrant.status.ok() ? absl::InternalError(absl::StrCat(path_,
                                                                   ": the default program differs from the "
                                                                   "evaluator: ",
                                                                   entrant.report.difference))
                                : entrant.status;
    }
    return why;
  }

  // What each session measured for itself decides.
  void DecideWithoutComparison() {
    const auto fastest = std::min_element(finalists_.begin(), finalists_.end(), [&](const auto& a, const auto& b) {
      return report_.entrants[a.entrant].report.best_seconds < report_.entrants[b.entrant].report.best_seconds;
    });
    report_.winner = static_cast<int>(fastest->entrant);
    const TuneReport& won = report_.entrants[report_.winner].report;
    if (finalists_.size() == 1) {
      report_.baseline = won.compiler.empty() ? "the default" : absl::StrCat(won.compiler, "'s own choice");
      report_.baseline_seconds = won.default_seconds;
      if (won.improved) report_.compared = won.compared;
    }
    report_.entrants[report_.winner].seconds = won.best_seconds;
  }

  const std::string& path_;
  const std::vector<Entrant>& entrants_;
  const TuneOptions& options_;
  measure::Budget& budget_;
  std::vector<std::unique_ptr<gnn::Predictor>> predictors_;
  std::vector<std::unique_ptr<targets::Tunable>> tunables_;  // by entrant, until its session begins; null: none
  std::vector<Contender> looks_;                             // by entrant: what a look at its default showed
  std::vector<Part> parts_;                                  // by entrant: of the time
  std::vector<Finalist> finalists_;
  SeveralReport report_;
};

}  // namespace

double SeveralReport::speedup() const { return compared ? std::exp(compared->gain) : 1; }

absl::StatusOr<SeveralReport> TuneSeveral(const std::string& path, const std::vector<Entrant>& entrants,
                                          const TuneOptions& options, measure::Budget& budget) {
  return Contest(path, entrants, options, budget).Run();
}

std::string FormatReport(const std::string& path, const TuneOptions& options, const SeveralReport& report,
                         const measure::Budget& budget) {
  std::string text = absl::StrCat(path, "\n");
  if (report.baseline_seconds > 0)
    absl::StrAppend(&text, absl::StrFormat("  %-12s %10.4f ms\n", report.baseline, 1e3 * report.baseline_seconds));
  for (const EntrantReport& entrant : report.entrants) {
    absl::StrAppend(&text, absl::StrFormat("  %-12s ", entrant.name));
    if (!entrant.status.ok()) {
      absl::StrAppend(&text, "no session: ", std::string(entrant.status.message()), "\n");
    } else if (entrant.seconds > 0) {
      absl::StrAppend(&text, absl::StrFormat("%10.4f ms%s\n", 1e3 * entrant.seconds,
                                             entrant.report.improved ? "" : ", its default"));
    } else {
      const TuneReport& own = entrant.report;
      absl::StrAppend(&text, own.difference.empty() ? own.undecided : own.difference, "\n");
    }
  }
  const EntrantReport& winner = report.entrants[report.winner];
  if (report.compared) {
    absl::StrAppend(&text,
                    absl::StrFormat("  speed        %10.3f [%.3f, %.3f] times that of %s, of %d sets of processes%s\n",
                                    std::exp(report.compared->gain), std::exp(report.compared->low),
                                    std::exp(report.compared->high), report.baseline, report.compared->children,
                                    report.compared->better ? "" : ", which may be noise"));
  } else if (!report.undecided.empty()) {
    absl::StrAppend(
        &text, "  ", report.undecided,
        winner.seconds > 0 ? ": the answer took least in its own session\n" : ": a default is the answer\n");
  }
  absl::StrAppend(&text, "  verified     ", winner.report.verified ? "yes, against the evaluator" : "no", "\n");
  absl::StrAppend(&text, "  time         ", budget.ToString(), "\n");
  absl::StrAppend(&text, "  answer       ", winner.name, ": ",
                  (std::filesystem::path(options.folder) / winner.name / "report.txt").string(), "\n");
  return text;
}

}  // namespace smelt::tuner
