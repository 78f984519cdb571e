// Trials of configurations on the machine: each is timed in turn with the default program in the measuring child, the
// first result of every new best is compared with the evaluator, and the record is committed before the next starts.
//
//   Trials trials(tunable, options);
//   trials.Open("run").ok();
//   TrialResult result = trials.Measure({config}).value();
//   if (result.outcome.ok()) result.outcome.relative()      // below 1: faster than the default
//
// What the records hold already is not measured again. Not thread-safe.
#pragma once

#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "measure/comparison.h"
#include "measure/records/measurements.h"
#include "measure/records/records.h"
#include "measure/runner.h"
#include "measure/verify.h"
#include "targets/tunable.h"
#include "tuner/search/fusion_state.h"

namespace smelt::tuner {

using targets::Trial;

struct TrialResult {
  measure::Outcome outcome;
  std::vector<measure::KernelRecord> kernels;
  bool from_records = false;
  double hardware_seconds = 0;  // that it took, now or when it was recorded
};

struct TrialOptions {
  measure::MeasurePolicy policy;
  int kernel_rounds = 3;  // runs in which kernels are timed one by one; 0: none
  const std::atomic<bool>* cancel = nullptr;
};

class Trials {
 public:
  // `tunable` must outlive it.
  Trials(const targets::Tunable& tunable, const TrialOptions& options)
      : tunable_(tunable),
        program_(tunable.program()),
        space_(tunable.space()),
        usual_(tunable.usual()),
        options_(options),
        runner_(tunable.target().NewDevice(targets::DeviceUse::kTimes), options.policy, options.cancel) {}

  // Makes or opens the run folder: records.db, log.txt.
  absl::Status Open(const std::string& folder);

  // Fails only where the records cannot be kept, with what Ended says, or with Unavailable after several trials of
  // which nothing became known; nothing is then recorded.
  absl::StatusOr<TrialResult> Measure(const Trial& trial);
  // The outcome of one kernel, known or measured now, and recorded then; its seconds count once a run. Fails as
  // Measure.
  absl::StatusOr<measure::Outcome> MeasureKernel(const std::string& subject, const std::string& description,
                                                 const std::function<measure::Outcome()>& measure);

  // Evaluates the program in at most so many seconds, which also decides the inputs that trials run on; once, before
  // the first of them. Where the evaluator gives no result, that of the default program is what trials are compared
  // with.
  absl::Status PrepareVerifier(double max_seconds);

  // How the answer was compared.
  enum class Verdict : uint8_t {
    kRight,      // equal to the evaluator's result
    kWrong,      // not
    kUnchecked,  // the evaluator has no result, or the compiler's own differs from it: compared with the default
                 // program's; or no result is finite
    kNoResult,   // it failed before it gave one
  };
  struct Check {
    Verdict verdict;
    std::string difference;  // kWrong and kNoResult
    bool Refutes() const { return verdict == Verdict::kWrong || verdict == Verdict::kNoResult; }
  };
  // Compares a trial's results. Unavailable where nothing is known of them.
  absl::StatusOr<Check> Verify(const Trial& trial);

  const Trial& best() const { return best_ ? *best_ : usual_; }
  const measure::Outcome* best_outcome() const { return best_ ? &best_outcome_ : nullptr; }
  double best_relative() const { return best_ ? best_outcome_.relative() : 1; }
  const Trial& usual() const { return usual_; }
  // A smaller gain of something timed alone is not followed: kScreeningGain, or none where times never vary.
  double ScreeningGain() const { return tunable_.target().TimesVary() ? measure::kScreeningGain : 0; }

  measure::Candidate ToCandidate(const Trial& trial) const { return tunable_.ToCandidate(trial); }
  measure::Runner& runner() { return runner_; }
  measure::RecordKey KeyOf(const std::string& subject) const;

  bool Cancelled() const { return options_.cancel != nullptr && *options_.cancel; }
  // Cancelled after an interruption; DeadlineExceeded where the runner's time is over (Runner::SetDeadline).
  absl::Status Ended() const;
  // Spent on trials of this folder, by this and earlier runs.
  double hardware_seconds() const { return runner_.hardware_seconds() + known_seconds(); }
  double known_seconds() const { return measurements_->known_seconds(); }  // of these, by earlier runs
  // Programs; kernels alone are not counted.
  int64_t measured() const { return measurements_->counts("program").measured; }
  int64_t known() const { return measurements_->counts("program").known; }
  int64_t failed() const { return measurements_->counts("program").failed; }
  const std::string& why_unchecked() const { return why_unchecked_; }
  // Results that rounding decides (Verifier::LearnNoise), a line each; empty as long as nothing differed.
  const std::vector<std::string>& noisy() const { return noisy_; }

  void Log(const std::string& line);
  std::string Path(const std::string& name) const;

 private:
  // Times it in turn with the default; for longer where it is a rival of the best that seems to win.
  absl::Status Time(const Trial& trial, bool rival, measure::Record* record);
  // A new best must be right before it counts, one from the records included: it may not have been best when it was
  // measured. Whether the outcome changed.
  absl::StatusOr<bool> TakeBackIfWrong(const Trial& trial, measure::Outcome* outcome);
  // Rounds again where a trial seems to be a new best: of many trials the luckiest looks best, and is not.
  absl::Status Confirm(const Trial& trial, measure::Outcome* outcome);
  // What makes two trials one: kernels with their counts, and tiles. Names and bits without effect do not.
  std::string SubjectOf(const Trial& trial) const;
  void NoteUselessResults();
  // The compiler's own result is what users have. Where it differs from the evaluator's as well, by little or by much
  // (ill-conditioned programs, random numbers), it is what candidates are compared with.
  absl::Status AskTheDefault();
  absl::Status ExpectResultsOfTheDefault();

  const targets::Tunable& tunable_;
  const targets::Program& program_;
  const fusion::Space& space_;
  const Trial usual_;
  const TrialOptions options_;
  measure::Runner runner_;
  std::string folder_;
  std::optional<measure::Measurements> measurements_;  // from Open on
  std::ofstream log_;
  std::unique_ptr<measure::Verifier> verifier_;
  std::string why_unchecked_;
  double evaluator_seconds_ = 0;  // its limit
  bool default_asked_ = false;
  std::vector<std::string> noisy_;
  std::optional<Trial> best_;
  measure::Outcome best_outcome_;
};

}  // namespace smelt::tuner
