// Schedules of one kernel on the machine: each is timed in turn with the kernel's default, the first result of every
// new best is compared with the evaluator, and the record is committed before the next starts.
//
//   ScheduleTrials trials(task, target, {});
//   trials.Open("run").ok();
//   ScheduleResult result = trials.Measure(task.space.Default()).value();
//   RelativeTime(result.outcome);   // below 1: faster than the default
//
// A record's subject is the kernel's hash and that of the schedule's trace, so that configurations that come to the
// same schedule are measured once; its description is the configuration. Several tuners may keep one folder. Not
// thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "measure/comparison.h"
#include "measure/records/measurements.h"
#include "measure/records/records.h"
#include "measure/runner.h"
#include "measure/verify.h"
#include "targets/target.h"
#include "tuner/schedule/build_ahead.h"
#include "tuner/schedule/cost_model.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

struct ScheduleTrialOptions {
  measure::MeasurePolicy policy{.repeats = 5, .seconds = 0.5, .build_timeout = 30, .run_timeout = 10};
  double evaluator_seconds = 60;  // for the results to compare with
  // A trial that takes so many times as long as the best so far, or as the default, gets no more than one look.
  double hopeless = 2;
  const std::atomic<bool>* cancel = nullptr;
};

struct ScheduleResult {
  Config config;
  measure::Outcome outcome;
  bool known = false;  // from the records
};

// The least of a trial's times over the least of the default's: what disturbs a kernel only ever adds, for longer than
// most kernels take, and both had the same chances. Infinity where it failed.
double RelativeTime(const measure::Outcome& outcome);

// What a search keeps of a trial: samples of ten thousand would take more memory than the rest.
struct TriedConfig {
  Config config;
  double relative = 0;  // its time over the default's; infinity: it failed
};
TriedConfig Tried(Config config, const measure::Outcome& outcome);
// What a cost model learns of them: the time of the fastest over each one's.
std::vector<Measured> ToMeasured(const std::vector<TriedConfig>& tried);

class ScheduleTrials {
 public:
  // `task` and `target` must outlive it.
  ScheduleTrials(const ScheduleTask& task, const targets::Target& target, const ScheduleTrialOptions& options);

  // Makes or opens the folder: records.db, log.txt, kernels/HASH.hlo, which a later search of another kernel learns
  // from.
  absl::Status Open(const std::string& folder);

  // The task's results that came to the records since it was asked last, in order; another tuner's as well.
  absl::StatusOr<std::vector<ScheduleResult>> Recorded();

  // These are measured next, in this order: where cores are idle, they are compiled meanwhile.
  void Announce(absl::Span<const Config> configs);
  // Fails where the records cannot be kept, where the default cannot be timed, with Cancelled, with DeadlineExceeded
  // where the runner's time is over, or with Unavailable after several trials of which nothing became known. A
  // configuration without a schedule is an outcome that says so, and not recorded.
  absl::StatusOr<ScheduleResult> Measure(const Config& config);

  // The default and a configuration as they are compared at the end; `candidate` with no configuration: the default.
  measure::Candidate ToCandidate(const Config* config) const;
  // Empty: it computes what the evaluator does; otherwise where they differ. Unavailable: nothing is known of it.
  absl::StatusOr<std::string> Difference(const Config& config);
  // Why results cannot be compared with the evaluator's; empty: they can.
  const std::string& why_unchecked() const { return why_unchecked_; }

  double best_relative() const { return best_relative_; }  // infinity: nothing yet
  const std::optional<Config>& best() const { return best_; }
  // Another of those that were measured is the answer.
  void SetBest(const Config& config, double relative);
  measure::Runner& runner() { return runner_; }
  measure::Measurements::Counts counts() const { return measurements_->counts("schedule"); }
  absl::Status Ended() const;
  void Log(const std::string& line);

 private:
  // The same to be verified: with the inputs that the verifier knows, wherever they lie.
  measure::Candidate WithKnownInputs(const Config* config) const;
  measure::RecordKey KeyOf(const std::string& trace) const;
  std::string SubjectStart() const;
  absl::Status Time(const Config& config, measure::Record* record);
  absl::StatusOr<bool> TakeBackIfWrong(const Config& config, measure::Outcome* outcome);
  absl::Status PrepareVerifier();
  void Note(const ScheduleResult& result);

  const ScheduleTask& task_;
  const targets::Target& target_;
  const ScheduleTrialOptions options_;
  measure::Runner runner_;
  std::optional<BuildAhead> builders_;    // from the first announcement on
  std::unique_ptr<hlo::Module> program_;  // that runs the kernel and nothing else
  std::string program_text_, folder_, why_unchecked_;
  std::ofstream log_;
  std::unique_ptr<measure::Records> reader_;
  int64_t last_read_ = 0;  // of its records
  std::optional<measure::Measurements> measurements_;
  std::unique_ptr<measure::Verifier> verifier_;
  std::deque<double> usual_seconds_;  // the default's least in each of the latest trials
  std::optional<Config> best_;
  double best_relative_;
};

}  // namespace smelt::tuner
