#include "tuner/schedule/schedule_trials.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "hlo/file/message.h"
#include "hlo/text/printer.h"
#include "measure/kernel_program.h"

namespace smelt::tuner {

namespace fs = std::filesystem;

namespace {

// A trial in which even the least of the default's times is so many times its usual one says nothing: something held
// the core from beginning to end. It is timed again, at most so often.
constexpr double kDisturbed = 1.15;
constexpr int kMostTurns = 4;
// The default's least time in so many trials before is its usual one.
constexpr size_t kRecentTrials = 31;

double LeastOf(const std::vector<double>& seconds) {
  return seconds.empty() ? std::numeric_limits<double>::infinity() : *std::min_element(seconds.begin(), seconds.end());
}

// Adds the samples of another turn. The other's failure is the trial's.
void Join(measure::Outcome more, measure::Outcome* outcome) {
  if (!more.ok()) {
    *outcome = std::move(more);
    return;
  }
  outcome->seconds.insert(outcome->seconds.end(), more.seconds.begin(), more.seconds.end());
  outcome->reference_seconds.insert(outcome->reference_seconds.end(), more.reference_seconds.begin(),
                                    more.reference_seconds.end());
}

absl::Status MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(folder.string(), ": cannot be made: ", error.message()));
}

}  // namespace

double RelativeTime(const measure::Outcome& outcome) {
  const double usual = LeastOf(outcome.reference_seconds);
  return outcome.ok() && std::isfinite(usual) ? outcome.best() / usual : std::numeric_limits<double>::infinity();
}

TriedConfig Tried(Config config, const measure::Outcome& outcome) { return {std::move(config), RelativeTime(outcome)}; }

std::vector<Measured> ToMeasured(const std::vector<TriedConfig>& tried) {
  double best = std::numeric_limits<double>::infinity();
  for (const TriedConfig& one : tried) best = std::min(best, one.relative);
  std::vector<Measured> measured;
  for (const TriedConfig& one : tried)
    measured.push_back({one.config, std::isfinite(one.relative) ? best / one.relative : 0.0});
  return measured;
}

ScheduleTrials::ScheduleTrials(const ScheduleTask& task, const targets::Target& target,
                               const ScheduleTrialOptions& options)
    : task_(task),
      target_(target),
      options_(options),
      runner_(target.NewDevice(targets::DeviceUse::kTimes), options.policy, options.cancel),
      program_(measure::ProgramOfKernel(*task.kernel)),
      program_text_(hlo::ToMessage(*program_)),
      best_relative_(std::numeric_limits<double>::infinity()) {}

absl::Status ScheduleTrials::Open(const std::string& folder) {
  folder_ = folder;
  SMELT_RETURN_IF_ERROR(MakeFolder(folder));
  SMELT_RETURN_IF_ERROR(MakeFolder(fs::path(folder) / "kernels"));
  RemoveLeftovers(folder);
  const std::string hash = task_.kernel->hash.ToHex();
  SMELT_RETURN_IF_ERROR(
      WriteFile((fs::path(folder) / "kernels" / (hash + ".hlo")).string(), hlo::ToText(*task_.kernel->module)));
  const std::string log = (fs::path(folder) / "log.txt").string();
  log_.open(log, std::ios::app);
  if (!log_) return absl::UnavailableError(absl::StrCat(log, ": cannot be written: ", std::strerror(errno)));
  const std::string database = (fs::path(folder) / "records.db").string();
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<measure::Records> records, measure::Records::Open(database));
  SMELT_ASSIGN_OR_RETURN(reader_, measure::Records::Open(database));
  measurements_.emplace(std::move(records),
                        measure::Measurements::Options{.name = absl::StrCat("kernel ", task_.kernel->name),
                                                       .spent = [this] { return runner_.hardware_seconds(); },
                                                       .log = [this](const std::string& line) { Log(line); }});
  return absl::OkStatus();
}

void ScheduleTrials::Log(const std::string& line) {
  log_.clear();  // a line that a full disk refused is not the end of the log
  log_ << line << std::endl;
}

std::string ScheduleTrials::SubjectStart() const { return absl::StrCat("schedule ", task_.kernel->hash.ToHex(), " "); }

measure::RecordKey ScheduleTrials::KeyOf(const std::string& trace) const {
  return {absl::StrCat(SubjectStart(), HashOf(trace).ToHex()), target_.RecordName(), measure::DeviceName(),
          target_.CompilerVersion(), options_.policy.ToString()};
}

absl::Status ScheduleTrials::Ended() const {
  if (options_.cancel != nullptr && *options_.cancel) return absl::CancelledError("interrupted");
  if (runner_.out_of_time()) return absl::DeadlineExceededError("no time is left");
  return absl::OkStatus();
}

measure::Candidate ScheduleTrials::ToCandidate(const Config* config) const {
  measure::Candidate candidate = WithKnownInputs(config);
  if (target_.HasDistances()) candidate.distances = task_.kernel->distances;
  return candidate;
}

measure::Candidate ScheduleTrials::WithKnownInputs(const Config* config) const {
  measure::Candidate candidate{program_text_};
  if (config != nullptr) candidate.knobs[task_.kernel->hash.ToHex()] = config->ToString();
  return candidate;
}

absl::StatusOr<std::vector<ScheduleResult>> ScheduleTrials::Recorded() {
  SMELT_ASSIGN_OR_RETURN(const std::vector<measure::Record> records, reader_->Newer(&last_read_));
  const measure::RecordKey own = KeyOf("");
  const std::string start = SubjectStart();
  std::vector<ScheduleResult> results;
  for (const measure::Record& record : records) {
    measure::RecordKey key = record.key;
    if (!key.subject.starts_with(start)) continue;
    key.subject = own.subject;
    if (!(key == own)) continue;  // another machine, compiler or policy
    absl::StatusOr<Config> config = task_.space.Parse(record.description);
    if (!config.ok()) continue;  // of a space that this version does not make
    results.push_back({*std::move(config), record.outcome, /*known=*/true});
  }
  return results;
}

void ScheduleTrials::Note(const ScheduleResult& result) {
  const double relative = RelativeTime(result.outcome);
  if (relative < best_relative_) SetBest(result.config, relative);
}

void ScheduleTrials::SetBest(const Config& config, double relative) {
  best_ = config;
  best_relative_ = relative;
}

void ScheduleTrials::Announce(absl::Span<const Config> configs) {
  if (!builders_) builders_.emplace(target_, *task_.kernel, options_.policy, options_.cancel);
  std::vector<std::string> ways;
  for (const Config& config : configs) ways.push_back(config.ToString());
  builders_->Begin(std::move(ways));
}

absl::StatusOr<ScheduleResult> ScheduleTrials::Measure(const Config& config) {
  const absl::StatusOr<kernels::schedule::Schedule> schedule = task_.space.ScheduleFor(config);
  if (!schedule.ok()) {
    measure::Outcome outcome{.failure = measure::Failure::kBuildFailed,
                             .message = std::string(schedule.status().message())};
    return ScheduleResult{config, std::move(outcome), false};
  }
  const measure::Record wanted{KeyOf(schedule->ToString()), "schedule", config.ToString()};
  SMELT_ASSIGN_OR_RETURN(measure::Measurements::Got got,
                         measurements_->Get(
                             wanted, [&](measure::Record* record) { return Time(config, record); },
                             [&](measure::Record* record) { return TakeBackIfWrong(config, &record->outcome); }));
  ScheduleResult result{config, std::move(got.record.outcome), got.known};
  Note(result);
  return result;
}

absl::Status ScheduleTrials::Time(const Config& config, measure::Record* record) {
  if (builders_) {
    std::optional<measure::Outcome> built = builders_->Await(config.ToString());
    SMELT_RETURN_IF_ERROR(Ended());
    if (built && !built->ok() && measure::IsLasting(built->failure)) {
      record->outcome = *std::move(built);
      return absl::OkStatus();
    }
  }
  const auto time = [&] {
    return runner_.TimeProgram(ToCandidate(&config), ToCandidate(nullptr), options_.policy.repeats,
                               options_.policy.seconds, /*kernel_rounds=*/0,
                               options_.hopeless * std::min(best_relative_, 1.0));
  };
  measure::Runner::ProgramResult timed = time();
  SMELT_RETURN_IF_ERROR(Ended());
  if (timed.reference_failed && measure::IsLasting(timed.outcome.failure)) {
    return absl::InternalError(absl::StrCat("kernel ", task_.kernel->name, ": its default cannot be measured: ",
                                            std::string(measure::FailureName(timed.outcome.failure)), ": ",
                                            timed.outcome.message));
  }
  measure::Outcome& outcome = record->outcome;
  outcome = std::move(timed.outcome);
  const double usual = LeastOf({usual_seconds_.begin(), usual_seconds_.end()});
  // The luckiest of many trials looks best, and is not: a new best is timed once more.
  bool confirmed = false;
  for (int turn = 1; turn < kMostTurns && outcome.ok(); ++turn) {
    const bool disturbed = LeastOf(outcome.reference_seconds) > kDisturbed * usual;
    const bool seems_best = !confirmed && RelativeTime(outcome) < best_relative_;
    if (!disturbed && !seems_best) break;
    confirmed = confirmed || !disturbed;
    Join(time().outcome, &outcome);
    SMELT_RETURN_IF_ERROR(Ended());
  }
  if (!outcome.ok()) return absl::OkStatus();
  usual_seconds_.push_back(LeastOf(outcome.reference_seconds));
  if (usual_seconds_.size() > kRecentTrials) usual_seconds_.pop_front();
  return absl::OkStatus();
}

absl::Status ScheduleTrials::PrepareVerifier() {
  if (verifier_ != nullptr || !why_unchecked_.empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<measure::Verifier>> made =
      measure::Verifier::Create(*program_, options_.evaluator_seconds, options_.cancel);
  SMELT_RETURN_IF_ERROR(Ended());
  if (made.ok()) {
    verifier_ = *std::move(made);
    return absl::OkStatus();
  }
  why_unchecked_ = absl::StrCat("the evaluator has no result of the kernel: ", std::string(made.status().message()));
  Log(why_unchecked_);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ScheduleTrials::Difference(const Config& config) {
  SMELT_RETURN_IF_ERROR(PrepareVerifier());
  const auto outputs = [&](const Config* of) {
    if (verifier_ != nullptr) runner_.UseInputs(verifier_->inputs());
    return runner_.Outputs(WithKnownInputs(of), (fs::path(folder_) / "outputs.safetensors").string());
  };
  // Where the evaluator takes too long, the default is what a schedule must agree with.
  if (verifier_ == nullptr) {
    SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> usual, outputs(nullptr));
    SMELT_ASSIGN_OR_RETURN(verifier_, measure::Verifier::FromOutputs(*program_, usual, {}));
  }
  const absl::StatusOr<std::vector<hlo::Literal>> got = outputs(&config);
  SMELT_RETURN_IF_ERROR(Ended());
  if (absl::IsUnavailable(got.status())) return got.status();
  if (!got.ok()) return absl::StrCat("it gives no result: ", std::string(got.status().message()));
  std::string difference = verifier_->Compare(*got);
  if (difference.empty() || !verifier_->MayBeNoise() || !why_unchecked_.empty()) return difference;
  // Sums in another order may differ by what rounding alone decides.
  const auto noisy = verifier_->LearnNoise(*got, 1, options_.evaluator_seconds, options_.cancel);
  SMELT_RETURN_IF_ERROR(Ended());
  if (!noisy.ok()) return difference;
  for (const std::string& line : *noisy) Log(line);
  return verifier_->Compare(*got);
}

absl::StatusOr<bool> ScheduleTrials::TakeBackIfWrong(const Config& config, measure::Outcome* outcome) {
  if (RelativeTime(*outcome) >= best_relative_) return false;
  const absl::StatusOr<std::string> difference = Difference(config);
  if (!difference.ok() && !absl::IsUnavailable(difference.status())) return difference.status();
  if (difference.ok() && difference->empty()) return false;
  outcome->failure = difference.ok() ? measure::Failure::kWrongAnswer : measure::Failure::kEnvironment;
  outcome->message = difference.ok() ? *difference : std::string(difference.status().message());
  return true;
}

}  // namespace smelt::tuner
