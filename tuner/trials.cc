#include "tuner/trials.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "fusion/incremental_fusion.h"

namespace smelt::tuner {

namespace fs = std::filesystem;

absl::Status Trials::Open(const std::string& folder) {
  folder_ = folder;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  RemoveLeftovers(folder);
  log_.open(Path("log.txt"), std::ios::app);
  if (!log_)
    return absl::UnavailableError(absl::StrCat(Path("log.txt"), ": cannot be written: ", std::strerror(errno)));
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<measure::Records> records, measure::Records::Open(Path("records.db")));
  measurements_.emplace(std::move(records),
                        measure::Measurements::Options{.name = program_.path,
                                                       .spent = [this] { return runner_.hardware_seconds(); },
                                                       .log = [this](const std::string& line) { Log(line); }});
  return absl::OkStatus();
}

std::string Trials::Path(const std::string& name) const { return (fs::path(folder_) / name).string(); }
void Trials::Log(const std::string& line) {
  log_.clear();  // a line that a full disk refused is not the end of the log
  log_ << line << std::endl;
}

std::string Trials::SubjectOf(const Trial& trial) const {
  Hasher hasher;
  hasher.Add(space_.fingerprint());
  for (const Trial* t : {&usual_, &trial}) {
    if (!t->compiler.empty()) {
      hasher.Add(t->compiler);
      continue;
    }
    std::vector<std::pair<std::string, Hash128>> kernels;
    for (const fusion::KernelRef& kernel : fusion::IncrementalFusion(space_, t->config).Kernels())
      kernels.push_back({kernel.computation->name(), kernel.hash});
    std::sort(kernels.begin(), kernels.end());
    hasher.Add(static_cast<int64_t>(kernels.size()));
    for (const auto& [computation, hash] : kernels) hasher.Add(computation).Add(hash);
    for (const auto& [hash, tile] : t->tiles) hasher.Add(hash).Add(tile);
  }
  return hasher.Finish().ToHex();
}

measure::RecordKey Trials::KeyOf(const std::string& subject) const {
  const targets::Target& target = tunable_.target();
  return {subject, target.RecordName(), measure::DeviceName(), target.CompilerVersion(), options_.policy.ToString()};
}

absl::Status Trials::Ended() const {
  if (Cancelled()) return absl::CancelledError("interrupted");
  if (runner_.out_of_time()) return absl::DeadlineExceededError("no time is left");
  return absl::OkStatus();
}

absl::StatusOr<measure::Outcome> Trials::MeasureKernel(const std::string& subject, const std::string& description,
                                                       const std::function<measure::Outcome()>& measure) {
  const auto measure_now = [&](measure::Record* record) {
    record->outcome = measure();
    return Ended();
  };
  SMELT_ASSIGN_OR_RETURN(const measure::Measurements::Got got,
                         measurements_->Get({KeyOf(subject), "kernel", description}, measure_now));
  return got.record.outcome;
}

absl::StatusOr<TrialResult> Trials::Measure(const Trial& trial) {
  const measure::Record wanted{
      KeyOf(SubjectOf(trial)), "program",
      trial.compiler.empty() ? absl::StrCat("config ", ConfigText(trial.config)) : trial.compiler,
      trial.predicted_seconds};
  // The default is no rival of itself, however lucky its rounds are. A folder would never get over a failure of it.
  const bool is_usual = wanted.key.subject == SubjectOf(usual_);
  const auto failures =
      is_usual ? measure::Measurements::Failures::kMeasureAgain : measure::Measurements::Failures::kFinal;
  SMELT_ASSIGN_OR_RETURN(measure::Measurements::Got got,
                         measurements_->Get(
                             wanted, [&](measure::Record* record) { return Time(trial, /*rival=*/!is_usual, record); },
                             [&](measure::Record* record) -> absl::StatusOr<bool> {
                               if (is_usual) return false;
                               return TakeBackIfWrong(trial, &record->outcome);
                             },
                             failures));
  TrialResult result{std::move(got.record.outcome), std::move(got.record.kernels), got.known,
                     got.record.hardware_seconds};
  if (!result.outcome.ok()) return result;
  Log(absl::StrFormat("trial %s: predicted %.4f ms, took %.4f of the default%s", wanted.key.subject,
                      1e3 * trial.predicted_seconds, result.outcome.relative(), got.known ? ", from the records" : ""));
  if (!is_usual && result.outcome.relative() < best_relative()) {
    best_ = trial;
    best_outcome_ = result.outcome;
  }
  return result;
}

absl::Status Trials::Time(const Trial& trial, bool rival, measure::Record* record) {
  measure::Runner::ProgramResult timed =
      runner_.TimeProgram(ToCandidate(trial), ToCandidate(usual_), options_.policy.repeats, options_.policy.seconds,
                          options_.kernel_rounds);
  SMELT_RETURN_IF_ERROR(Ended());
  if (timed.reference_failed && measure::IsLasting(timed.outcome.failure)) {
    return absl::UnimplementedError(absl::StrCat(program_.path, ": the default program cannot be measured: ",
                                                 std::string(measure::FailureName(timed.outcome.failure)), ": ",
                                                 timed.outcome.message));
  }
  record->outcome = std::move(timed.outcome);
  for (const measure::Runner::KernelTime& kernel : timed.kernels) {
    if (kernel.executions > 0)
      record->kernels.push_back(
          {kernel.hash, kernel.seconds / static_cast<double>(kernel.executions), kernel.executions});
  }
  if (!rival || !record->outcome.ok() || record->outcome.relative() >= best_relative()) return absl::OkStatus();
  return Confirm(trial, &record->outcome);
}

absl::StatusOr<bool> Trials::TakeBackIfWrong(const Trial& trial, measure::Outcome* outcome) {
  if (!outcome->ok() || outcome->relative() >= best_relative()) return false;
  const absl::StatusOr<Check> check = Verify(trial);
  if (!check.ok() && !absl::IsUnavailable(check.status())) return check.status();
  if (check.ok() && !check->Refutes()) return false;
  outcome->failure = !check.ok()                         ? measure::Failure::kEnvironment
                     : check->verdict == Verdict::kWrong ? measure::Failure::kWrongAnswer
                                                         : measure::Failure::kRunCrashed;
  outcome->message = check.ok() ? check->difference : std::string(check.status().message());
  return true;
}

absl::Status Trials::Confirm(const Trial& trial, measure::Outcome* outcome) {
  const int turns = tunable_.target().TimesVary() ? 2 : 0;
  for (int turn = 0; turn < turns && outcome->relative() < best_relative(); ++turn) {
    measure::Runner::ProgramResult again = runner_.TimeProgram(
        ToCandidate(trial), ToCandidate(usual_), options_.policy.repeats, options_.policy.seconds, /*kernel_rounds=*/0);
    SMELT_RETURN_IF_ERROR(Ended());
    if (!again.outcome.ok()) {
      outcome->failure = again.outcome.failure;
      outcome->message = again.outcome.message;
      return absl::OkStatus();
    }
    outcome->seconds.insert(outcome->seconds.end(), again.outcome.seconds.begin(), again.outcome.seconds.end());
    outcome->reference_seconds.insert(outcome->reference_seconds.end(), again.outcome.reference_seconds.begin(),
                                      again.outcome.reference_seconds.end());
  }
  return absl::OkStatus();
}

absl::Status Trials::PrepareVerifier(double max_seconds) {
  if (verifier_ != nullptr) return absl::OkStatus();
  evaluator_seconds_ = max_seconds;
  absl::StatusOr<std::unique_ptr<measure::Verifier>> evaluated =
      measure::Verifier::Create(*program_.original, max_seconds, options_.cancel);
  if (evaluated.ok()) {
    verifier_ = *std::move(evaluated);
  } else {
    if (Cancelled()) return absl::CancelledError("interrupted");
    why_unchecked_ = absl::StrCat("the evaluator has no result: ", std::string(evaluated.status().message()));
    Log(absl::StrCat(why_unchecked_, "; results are compared with those of the default program"));
    SMELT_RETURN_IF_ERROR(ExpectResultsOfTheDefault());
  }
  runner_.UseInputs(verifier_->inputs());
  NoteUselessResults();
  return absl::OkStatus();
}

// Under the first kind of inputs that gives finite results only, as far as there is time to look.
absl::Status Trials::ExpectResultsOfTheDefault() {
  measure::TestInputs inputs = measure::TestInputs::Of(*program_.original, measure::kInputKinds.front());
  for (const measure::InputKind kind : measure::kInputKinds) {
    inputs.kind = kind;
    runner_.UseInputs(inputs);
    const absl::StatusOr<std::vector<hlo::Literal>> outputs =
        runner_.Outputs(ToCandidate(usual_), Path("outputs.safetensors"));
    if (!outputs.ok() && verifier_ != nullptr && !Cancelled()) break;
    SMELT_RETURN_IF_ERROR(Ended());
    if (!outputs.ok()) return outputs.status();
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<measure::Verifier> verifier,
                           measure::Verifier::FromOutputs(*program_.original, *outputs, inputs));
    if (verifier_ == nullptr || verifier->finite() > verifier_->finite()) verifier_ = std::move(verifier);
    if (verifier_->finite() == 1) break;
  }
  return absl::OkStatus();
}

void Trials::NoteUselessResults() {
  if (verifier_->finite() > 0) return;
  why_unchecked_ = "none of its results is a finite number under any inputs that were tried";
  Log(absl::StrCat("comparisons say nothing: ", why_unchecked_));
}

absl::StatusOr<Trials::Check> Trials::Verify(const Trial& trial) {
  absl::StatusOr<std::vector<hlo::Literal>> outputs = runner_.Outputs(ToCandidate(trial), Path("outputs.safetensors"));
  SMELT_RETURN_IF_ERROR(Ended());
  if (absl::IsUnavailable(outputs.status())) return outputs.status();
  if (!outputs.ok()) return Check{Verdict::kNoResult, std::string(outputs.status().message())};
  const double factor = tunable_.ErrorFactor(trial);
  std::string difference = verifier_->Compare(*outputs, factor);
  if (!difference.empty() && why_unchecked_.empty() && verifier_->MayBeNoise()) {
    Log(absl::StrCat("a result differs from the evaluator's: ", difference, "; how far does rounding alone move it?"));
    const absl::StatusOr<std::vector<std::string>> noisy =
        verifier_->LearnNoise(*outputs, factor, evaluator_seconds_, options_.cancel);
    if (Cancelled()) return absl::CancelledError("interrupted");
    if (noisy.ok()) noisy_ = *noisy;
    for (const std::string& line : noisy_) Log(line);
    difference = verifier_->Compare(*outputs, factor);
    if (!difference.empty() && absl::IsDeadlineExceeded(noisy.status()) && trial.compiler.empty() &&
        trial.config == usual_.config && trial.tiles == usual_.tiles) {
      why_unchecked_ = absl::StrCat("the default's result differs from the evaluator's (", difference,
                                    "), and there was no time to find out how far rounding alone moves it");
      Log(absl::StrCat(why_unchecked_, "; from now on results are compared with the default's"));
      SMELT_ASSIGN_OR_RETURN(verifier_,
                             measure::Verifier::FromOutputs(*program_.original, *outputs, verifier_->inputs()));
      return Check{Verdict::kUnchecked, ""};
    }
  }
  if (!difference.empty() && why_unchecked_.empty() && !default_asked_ && !usual_.compiler.empty()) {
    SMELT_RETURN_IF_ERROR(AskTheDefault());
    difference = verifier_->Compare(*outputs, factor);
  }
  // It may differ from itself: in its random numbers, for example.
  if (!why_unchecked_.empty() && !usual_.compiler.empty() && trial.compiler == usual_.compiler)
    return Check{Verdict::kUnchecked, ""};
  if (!difference.empty()) return Check{Verdict::kWrong, std::move(difference)};
  return Check{why_unchecked_.empty() ? Verdict::kRight : Verdict::kUnchecked, ""};
}

absl::Status Trials::AskTheDefault() {
  default_asked_ = true;
  const absl::StatusOr<std::vector<hlo::Literal>> outputs =
      runner_.Outputs(ToCandidate(usual_), Path("outputs.safetensors"));
  SMELT_RETURN_IF_ERROR(Ended());
  if (!outputs.ok()) return absl::OkStatus();  // it is no better judge
  const std::string whose = absl::StrCat(tunable_.CompilerName(), "'s own result");
  for (std::string& line : verifier_->Trust(*outputs, whose)) {
    Log(line);
    noisy_.push_back(std::move(line));
  }
  const std::string difference = verifier_->Compare(*outputs);
  if (difference.empty()) return absl::OkStatus();
  why_unchecked_ = absl::StrCat(whose, " differs from the evaluator's: ", difference);
  Log(absl::StrCat(why_unchecked_, "; from now on results are compared with it"));
  SMELT_ASSIGN_OR_RETURN(verifier_, measure::Verifier::FromOutputs(*program_.original, *outputs, verifier_->inputs()));
  return absl::OkStatus();
}

}  // namespace smelt::tuner
