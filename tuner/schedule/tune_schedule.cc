#include "tuner/schedule/tune_schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "tuner/schedule/transfer.h"

namespace smelt::tuner {
namespace {

class Session {
 public:
  Session(const ScheduleTask& task, const targets::Target& target, const ScheduleOptions& options)
      : task_(task), options_(options), trials_(task, target, TrialOptions(options)), start_(Clock::now()) {}

  absl::StatusOr<ScheduleReport> Run(const targets::Target& target) {
    SMELT_RETURN_IF_ERROR(trials_.Open(options_.folder));
    SearchOptions search = options_.search;
    std::unique_ptr<TransferModel> transfer;
    std::unique_ptr<CandidateFeatures> invariant;
    if (!options_.transfer.empty()) {
      SMELT_ASSIGN_OR_RETURN(transfer, TransferModel::Learn(options_.transfer, *task_.kernel, target, search.seed));
      invariant = std::make_unique<CandidateFeatures>(task_, search.threads);
      search.prior = transfer->For(*invariant);
      report_.transferred = transfer->measurements();
    }
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Search> made, MakeSearch(task_, search));
    report_.strategy = made->proposer->Describe();
    report_.space_size = absl::StrFormat("%.3g", static_cast<double>(task_.space.size()));
    const absl::Status searched = Trials(*made->proposer);
    report_.interrupted = absl::IsCancelled(searched);
    if (!searched.ok() && !absl::IsCancelled(searched) && !absl::IsDeadlineExceeded(searched)) return searched;
    report_.search_seconds = Since(start_);
    SMELT_RETURN_IF_ERROR(Decide());
    const measure::Measurements::Counts counts = trials_.counts();
    report_.measured = counts.measured;
    report_.known = counts.known;
    report_.failed = counts.failed;
    report_.hardware_seconds = trials_.runner().hardware_seconds();
    return std::move(report_);
  }

 private:
  static ScheduleTrialOptions TrialOptions(const ScheduleOptions& options) {
    ScheduleTrialOptions trial = options.trial;
    trial.cancel = options.cancel;
    return trial;
  }

  absl::Status Trials(Proposer& proposer) {
    while (true) {
      SMELT_RETURN_IF_ERROR(TakeRecorded());
      if (IsDone()) return absl::OkStatus();
      const size_t left = static_cast<size_t>(options_.search.trials) - tried_.size();
      SMELT_ASSIGN_OR_RETURN(const std::vector<Config> batch, NextBatch(proposer, std::min(left, options_.batch)));
      if (batch.empty()) return absl::OkStatus();  // the space has no more
      trials_.Announce(batch);
      for (const Config& config : batch) {
        if (IsDone()) break;
        SMELT_RETURN_IF_ERROR(Try(config));
      }
    }
  }

  // What is known, by earlier runs or by another tuner of the folder meanwhile, is asked for again: so it counts, and a
  // best of it is compared with the evaluator.
  absl::Status TakeRecorded() {
    SMELT_ASSIGN_OR_RETURN(const std::vector<ScheduleResult> recorded, trials_.Recorded());
    for (const ScheduleResult& known : recorded) {
      if (IsDone()) break;
      if (measured_.contains(known.config.values())) continue;
      (void)IsNew(known.config);  // from now on it is not
      SMELT_RETURN_IF_ERROR(Try(known.config));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Config>> NextBatch(Proposer& proposer, size_t count) {
    const Clock::time_point begin = Clock::now();
    Say("choosing what to measure");
    SMELT_RETURN_IF_ERROR(proposer.Learn(ToMeasured(tried_)));
    // Every search begins with the point that is nearest to the default.
    std::vector<Config> batch;
    if (tried_.empty() && IsNew(task_.space.Default())) {
      batch.push_back(task_.space.Default());
      measured_.insert(batch[0].values());
    }
    SMELT_ASSIGN_OR_RETURN(
        std::vector<Config> proposed,
        proposer.Next(count - batch.size(), measured_, [this](const Config& config) { return IsNew(config); }));
    batch.insert(batch.end(), proposed.begin(), proposed.end());
    report_.model_seconds += Since(begin);
    return batch;
  }

  // Several points of a space may come to one schedule, which is worth one trial.
  bool IsNew(const Config& config) {
    const absl::StatusOr<kernels::schedule::Schedule> schedule = task_.space.ScheduleFor(config);
    return schedule.ok() && traces_.insert(HashOf(schedule->ToString())).second;
  }

  absl::Status Try(const Config& config) {
    SMELT_ASSIGN_OR_RETURN(const ScheduleResult result, trials_.Measure(config));
    measured_.insert(config.values());
    tried_.push_back(Tried(config, result.outcome));
    const double relative = tried_.back().relative;
    report_.trials.push_back({config.ToString(), relative,
                              result.outcome.ok() ? "" : std::string(measure::FailureName(result.outcome.failure)),
                              result.known});
    if (result.outcome.ok() && relative <= trials_.best_relative()) {
      report_.default_seconds = result.outcome.best() / relative;
      report_.best_seconds = result.outcome.best();
    }
    Say("");
    return absl::OkStatus();
  }

  void Say(const std::string& what) {
    if (!options_.progress) return;
    const auto count = static_cast<double>(tried_.size());
    const double seconds = Since(start_), rate = seconds > 0 ? count / seconds : 0;
    const double left = (static_cast<double>(options_.search.trials) - count) / std::max(rate, 1e-9);
    const int64_t failed = trials_.counts().failed;
    options_.progress(
        absl::StrCat(absl::StrFormat("trial %d of %d", tried_.size(), options_.search.trials),
                     std::isfinite(trials_.best_relative())
                         ? absl::StrFormat(", best %.3fx the default", 1 / trials_.best_relative())
                         : "",
                     failed > 0 ? absl::StrFormat(", %d failed", failed) : "",
                     count > 0 ? absl::StrFormat(", %.1f trials/s, %.0f s left", rate, std::min(left, TimeLeft())) : "",
                     what.empty() ? "" : absl::StrCat(": ", what)));
  }

  // The best few of the trials in several processes.
  absl::Status Race() {
    if (options_.progress) options_.progress("the best few in turn");
    std::vector<double> relative;
    for (const TriedConfig& one : tried_) relative.push_back(one.relative);
    const std::vector<size_t> finalists = Finalists(relative, options_.race);
    std::vector<measure::Candidate> candidates;
    for (const size_t i : finalists) candidates.push_back(trials_.ToCandidate(&tried_[i].config));
    if (candidates.empty()) return absl::OkStatus();
    const size_t winner =
        finalists[RaceWinner(trials_.runner(), trials_.ToCandidate(nullptr), candidates, options_.race)];
    SMELT_RETURN_IF_ERROR(trials_.Ended());
    trials_.SetBest(tried_[winner].config, tried_[winner].relative);
    return absl::OkStatus();
  }

  absl::Status Decide() {
    if (trials_.best() && !report_.interrupted && options_.compare) SMELT_RETURN_IF_ERROR(Race());
    report_.best = trials_.best();
    report_.best_relative = trials_.best_relative();
    report_.unchecked = trials_.why_unchecked();
    if (!report_.best || report_.interrupted || !options_.compare) {
      report_.verified = report_.best.has_value() && report_.unchecked.empty();
      report_.improved = report_.best.has_value() && !report_.interrupted && report_.best_relative < 1;
      return absl::OkStatus();
    }
    if (options_.progress) options_.progress("the best in turn with the default");
    SMELT_ASSIGN_OR_RETURN(measure::Comparison comparison,
                           measure::CompareInterleaved(trials_.runner(), trials_.ToCandidate(nullptr),
                                                       trials_.ToCandidate(&*report_.best), options_.comparison));
    report_.default_seconds = comparison.usual_seconds;
    report_.best_seconds = comparison.tuned_seconds;
    report_.improved = comparison.better;
    report_.compared = std::move(comparison);
    absl::StatusOr<std::string> difference = trials_.Difference(*report_.best);
    if (!difference.ok()) return difference.status();
    report_.difference = *std::move(difference);
    report_.unchecked = trials_.why_unchecked();
    report_.verified = report_.difference.empty() && report_.unchecked.empty();
    if (!report_.difference.empty()) report_.improved = false;
    return absl::OkStatus();
  }

  double TimeLeft() const { return options_.seconds - Since(start_); }
  bool IsDone() const {
    return static_cast<int64_t>(tried_.size()) >= options_.search.trials || TimeLeft() <= 0 ||
           1 / trials_.best_relative() >= options_.until;
  }

  const ScheduleTask& task_;
  const ScheduleOptions& options_;
  ScheduleTrials trials_;
  const Clock::time_point start_;
  std::vector<TriedConfig> tried_;
  ConfigSet measured_;
  absl::flat_hash_set<Hash128> traces_;
  ScheduleReport report_;
};

}  // namespace

absl::StatusOr<ScheduleReport> TuneSchedule(const ScheduleTask& task, const targets::Target& target,
                                            const ScheduleOptions& options) {
  return Session(task, target, options).Run(target);
}

}  // namespace smelt::tuner
