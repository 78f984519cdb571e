#include "measure/runner.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "hlo/file/message.h"
#include "hlo/golden/safetensors.h"
#include "measure/kernel_program.h"
#include "measure/protocol.h"
#include "nlohmann/json.hpp"

namespace smelt::measure {
namespace {

using nlohmann::json;

constexpr auto kPause = std::chrono::milliseconds(50);  // before a second attempt: what was short may not be

// What an error of the child, or of a request in it, says of the candidate.
Failure FailureOf(const absl::Status& status, bool building) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
      return Failure::kEnvironment;
    case absl::StatusCode::kResourceExhausted:
      return Failure::kResourceLimit;
    case absl::StatusCode::kDeadlineExceeded:
      return building ? Failure::kBuildTimedOut : Failure::kRunTimedOut;
    case absl::StatusCode::kAborted:
      return Failure::kRunCrashed;
    default:
      return building ? Failure::kBuildFailed : Failure::kRunCrashed;
  }
}

struct Results {
  Outcome outcome;
  std::vector<hlo::Literal> outputs;
};

// The child has just written it: what cannot be read of it is the disk's.
void ReadOutputs(const std::string& file, Results* results) {
  absl::StatusOr<hlo::SafetensorsFile> outputs = hlo::ReadSafetensors(file);
  if (!outputs.ok()) {
    results->outcome.failure = Failure::kEnvironment;
    results->outcome.message = std::string(outputs.status().message());
    return;
  }
  for (hlo::NamedTensor& tensor : outputs->tensors) results->outputs.push_back(std::move(tensor.literal));
}

const Outcome& OutcomeOf(const Outcome& outcome) { return outcome; }
template <typename Result>
const Outcome& OutcomeOf(const Result& result) {
  return result.outcome;
}

}  // namespace

std::string MeasurePolicy::ToString() const {
  return absl::StrCat("repeats=", repeats, " seconds=", seconds, " apart");
}

void Runner::SetDeadline(Clock::time_point deadline) {
  deadline_ = deadline;
  out_of_time_ = false;
}

absl::StatusOr<json> Runner::Call(const json& request, double timeout, bool building, Outcome* outcome) {
  const auto failed = [&](const absl::Status& status, Failure failure) {
    outcome->failure = failure;
    outcome->message = std::string(status.message());
    return status;
  };
  const double left = deadline_ ? std::chrono::duration<double>(*deadline_ - Clock::now()).count() : timeout;
  if (left <= 0) {
    out_of_time_ = true;
    return failed(absl::DeadlineExceededError("no time is left"),
                  building ? Failure::kBuildTimedOut : Failure::kRunTimedOut);
  }
  const auto start = Clock::now();
  if (device_ == nullptr || !device_->alive()) {
    absl::StatusOr<std::unique_ptr<Device>> device =
        start_device_(deadline_ ? left : std::numeric_limits<double>::infinity());
    if (!device.ok()) {
      constexpr auto kRounding = std::chrono::milliseconds(1);
      out_of_time_ = absl::IsDeadlineExceeded(device.status()) && deadline_ && Clock::now() + kRounding >= *deadline_;
      return failed(device.status(), Failure::kEnvironment);
    }
    device_ = *std::move(device);
    loaded_.clear();
  }
  absl::StatusOr<json> reply = device_->Call(request, std::min(timeout, left));
  hardware_seconds_ += Since(start);
  if (!reply.ok()) {
    out_of_time_ = absl::IsDeadlineExceeded(reply.status()) && left < timeout;
    device_.reset();
    loaded_.clear();
    return failed(reply.status(), FailureOf(reply.status(), building));
  }
  if (reply->contains("cache_trouble")) NoteCacheTrouble(reply->value("cache_trouble", ""));
  if (const absl::Status error = ErrorOf(*reply); !error.ok())
    return failed(error, FailureOf(error, reply->value("build", false)));
  return reply;
}

template <typename Attempt>
auto Runner::TryTwice(const Attempt& attempt) {
  auto result = attempt();
  if (!IsWorthAnother(OutcomeOf(result))) return result;
  std::this_thread::sleep_for(kPause);
  return attempt();
}

bool Runner::IsWorthAnother(const Outcome& outcome) const {
  const bool cancelled = cancel_ != nullptr && *cancel_;
  return !cancelled && !out_of_time_ &&
         (!IsLasting(outcome.failure) || (outcome.failure == Failure::kRunCrashed && device_ == nullptr));
}

void Runner::UseInputs(const TestInputs& inputs) {
  if (inputs == inputs_) return;
  Keep({});
  inputs_ = inputs;
}

void Runner::UseInputsFile(std::string path) {
  Keep({});
  inputs_file_ = std::move(path);
}

json Runner::LoadRequest(const Candidate& candidate) const {
  json request{{"do", "load"}, {"module", candidate.module_text}, {"inputs", std::string(InputKindName(inputs_.kind))}};
  if (!inputs_.limits.empty()) request["limits"] = inputs_.limits;
  if (!candidate.knobs.empty()) request["knobs"] = candidate.knobs;
  if (!candidate.compiler.empty()) request["compiler"] = candidate.compiler;
  if (!candidate.distances.empty()) request["distances"] = candidate.distances;
  if (!warm_up_) request["warm_up"] = false;
  if (!inputs_file_.empty()) request["inputs_file"] = inputs_file_;
  return request;
}

const Runner::Loaded* Runner::Load(const Candidate& candidate, Outcome* outcome) {
  for (const Loaded& loaded : loaded_) {
    if (loaded.candidate == candidate) return &loaded;
  }
  return LoadAnew(candidate, outcome);
}

const Runner::Loaded* Runner::LoadAnew(const Candidate& candidate, Outcome* outcome) {
  absl::StatusOr<json> reply = Call(LoadRequest(candidate), policy_.build_timeout, /*building=*/true, outcome);
  if (!reply.ok()) return nullptr;
  Loaded loaded{candidate,
                reply->value("id", -1),
                reply->value("compile_seconds", 0.0),
                reply->value("arena_bytes", int64_t{0}),
                {}};
  for (const json& kernel : (*reply)["kernels"]) {
    loaded.kernels.push_back({.name = kernel.value("name", ""),
                              .hash = kernel.value("hash", ""),
                              .tile = kernel.value("tile", ""),
                              .opaque = kernel.value("opaque", false),
                              .flops = kernel.value("flops", 0.0),
                              .bytes = kernel.value("bytes", 0.0)});
  }
  loaded_.push_back(std::move(loaded));
  return &loaded_.back();
}

void Runner::Keep(std::initializer_list<const Candidate*> kept) {
  std::vector<Loaded> left;
  for (Loaded& loaded : loaded_) {
    const bool keep = std::any_of(kept.begin(), kept.end(), [&](const Candidate* c) { return *c == loaded.candidate; });
    if (keep) {
      left.push_back(std::move(loaded));
    } else if (device_ != nullptr) {
      Outcome ignored;
      (void)Call({{"do", "unload"}, {"id", loaded.id}}, 10, false, &ignored);
      if (device_ == nullptr) return;  // it died of it, and with it went everything that was loaded
    }
  }
  loaded_ = std::move(left);
}

namespace {

json TimeRequest(const std::vector<int>& ids, int rounds, double seconds) {
  constexpr double kLeastSeconds = 0.03;
  return {{"do", "time"}, {"ids", ids}, {"rounds", rounds}, {"seconds", seconds}, {"least_seconds", kLeastSeconds}};
}

json KernelRequest(const char* what, const fusion::Kernel& kernel, const std::string& way) {
  json request{{"do", what}, {"module", hlo::ToMessage(*ProgramOfKernel(kernel))}, {"hash", kernel.hash.ToHex()}};
  if (!way.empty()) request["way"] = way;
  if (!kernel.distances.empty()) request["distances"] = kernel.distances;
  return request;
}

}  // namespace

Runner::KernelResult Runner::TimeKernel(const fusion::Kernel& kernel, const std::string& way,
                                        const fusion::Kernel* reference) {
  json request = KernelRequest("time_kernel", kernel, way);
  if (reference != nullptr) request["reference"] = KernelRequest("time_kernel", *reference, "");
  return TimeKernelBy(std::move(request));
}

Runner::KernelResult Runner::TimeKernelLoop(const std::string& module, const std::string& reference) {
  json request{{"do", "time_kernel"}, {"module", module}};
  if (!reference.empty()) request["reference"] = {{"module", reference}};
  return TimeKernelBy(std::move(request));
}

Runner::KernelResult Runner::TimeKernelBy(json request) {
  request["repeats"] = policy_.repeats;
  request["seconds"] = policy_.seconds;
  const double timeout = policy_.build_timeout + policy_.seconds + policy_.run_timeout;
  return TryTwice([&] {
    KernelResult result;
    absl::StatusOr<json> reply = Call(request, timeout, /*building=*/true, &result.outcome);
    if (!reply.ok()) return result;
    result.outcome.seconds = reply->value("seconds", std::vector<double>());
    result.outcome.reference_seconds = reply->value("reference_seconds", std::vector<double>());
    result.outcome.compile_seconds = reply->value("compile_seconds", 0.0);
    result.trace = reply->value("trace", "");
    result.tile = reply->value("tile", "");
    result.opaque = reply->value("opaque", false);
    return result;
  });
}

Outcome Runner::CompileKernel(const fusion::Kernel& kernel, const std::string& way) {
  const json request = KernelRequest("compile", kernel, way);
  return TryTwice([&] {
    Outcome outcome;
    absl::StatusOr<json> reply = Call(request, policy_.build_timeout, /*building=*/true, &outcome);
    if (reply.ok()) outcome.compile_seconds = reply->value("compile_seconds", 0.0);
    return outcome;
  });
}

Runner::ProgramResult Runner::TimeProgram(const Candidate& candidate, const Candidate& reference, int rounds,
                                          double seconds, int kernel_rounds, double hopeless) {
  return TryTwice([&] { return TimeProgramOnce(candidate, reference, rounds, seconds, kernel_rounds, hopeless); });
}

Runner::ProgramResult Runner::TimeProgramOnce(const Candidate& candidate, const Candidate& reference, int rounds,
                                              double seconds, int kernel_rounds, double hopeless) {
  ProgramResult result;
  Keep({&candidate, &reference});
  const Loaded* base = Load(reference, &result.outcome);
  if (base == nullptr) {
    result.reference_failed = true;
    return result;
  }
  const int base_id = base->id;
  const Loaded* loaded = Describe(candidate, &result);
  if (loaded == nullptr) return result;
  const int id = loaded->id;
  json request = TimeRequest({base_id, id}, rounds, seconds);
  if (hopeless > 0) request["hopeless"] = hopeless;
  absl::StatusOr<json> reply = Call(request, seconds + policy_.run_timeout, /*building=*/false, &result.outcome);
  if (!reply.ok()) return result;
  result.outcome.reference_seconds = (*reply)["seconds"].at(0).get<std::vector<double>>();
  result.outcome.seconds = (*reply)["seconds"].at(1).get<std::vector<double>>();
  AddKernelTimes(id, kernel_rounds, &result);
  return result;
}

Runner::ProgramResult Runner::TimeKernelsOf(const Candidate& candidate, int kernel_rounds) {
  return TryTwice([&] {
    ProgramResult result;
    if (const Loaded* loaded = Describe(candidate, &result)) AddKernelTimes(loaded->id, kernel_rounds, &result);
    return result;
  });
}

const Runner::Loaded* Runner::Describe(const Candidate& candidate, ProgramResult* result) {
  const Loaded* loaded = Load(candidate, &result->outcome);
  if (loaded == nullptr) return nullptr;
  result->outcome.compile_seconds = loaded->compile_seconds;
  result->arena_bytes = loaded->arena_bytes;
  result->kernels = loaded->kernels;
  return loaded;
}

void Runner::AddKernelTimes(int id, int kernel_rounds, ProgramResult* result) {
  if (kernel_rounds == 0) return;
  const absl::StatusOr<json> reply = Call({{"do", "kernel_seconds"}, {"id", id}, {"rounds", kernel_rounds}},
                                          policy_.run_timeout, /*building=*/false, &result->outcome);
  if (!reply.ok()) return;
  const std::vector<double> seconds = reply->value("seconds", std::vector<double>());
  const std::vector<double> medians = reply->value("median", std::vector<double>());
  const std::vector<int64_t> executions = reply->value("executions", std::vector<int64_t>());
  // XLA's child does not tell the times of kernels: its lists are empty.
  for (size_t k = 0; k < std::min({seconds.size(), medians.size(), executions.size(), result->kernels.size()}); ++k) {
    result->kernels[k].seconds = seconds[k];
    result->kernels[k].median_seconds = medians[k];
    result->kernels[k].executions = executions[k];
  }
}

std::vector<Outcome> Runner::TimePrograms(const std::vector<Candidate>& candidates, int rounds, double seconds) {
  std::vector<Outcome> outcomes(candidates.size());
  std::vector<bool> retried(candidates.size());
  bool retried_together = false;
  // A candidate may take the child with it in which the others are loaded. It gets a second attempt, and after that the
  // others are timed without it: every turn but the last is some candidate's first or second failure.
  for (;;) {
    device_.reset();  // programs of an earlier call would take memory and caches
    loaded_.clear();
    std::vector<int> ids;
    std::vector<size_t> which;
    bool again = false;
    for (size_t i = 0; i < candidates.size() && !again; ++i) {
      if (!outcomes[i].ok()) continue;
      // Equal candidates are loaded each on its own: that is how noise is measured.
      if (const Loaded* loaded = LoadAnew(candidates[i], &outcomes[i])) {
        outcomes[i].compile_seconds = loaded->compile_seconds;
        ids.push_back(loaded->id);
        which.push_back(i);
        continue;
      }
      again = device_ == nullptr && !ids.empty();
      if (IsWorthAnother(outcomes[i]) && !retried[i]) {
        retried[i] = again = true;
        outcomes[i] = {};
      }
    }
    if (again && !out_of_time_) continue;
    if (ids.empty() || out_of_time_) return outcomes;
    Outcome together;
    absl::StatusOr<json> reply = Call(TimeRequest(ids, rounds, seconds), seconds + policy_.run_timeout,
                                      /*building=*/false, &together);
    if (!reply.ok() && IsWorthAnother(together) && !retried_together) {
      retried_together = true;
      continue;
    }
    for (size_t k = 0; k < which.size(); ++k) {
      Outcome& outcome = outcomes[which[k]];
      if (reply.ok()) {
        outcome.seconds = (*reply)["seconds"].at(k).get<std::vector<double>>();
      } else {
        outcome.failure = together.failure;
        outcome.message = together.message;
      }
    }
    return outcomes;
  }
}

absl::StatusOr<std::vector<hlo::Literal>> Runner::Outputs(const Candidate& candidate, const std::string& scratch_file) {
  Results results = TryTwice([&] {
    Results once;
    const Loaded* loaded = Load(candidate, &once.outcome);
    if (loaded == nullptr) return once;
    absl::StatusOr<json> reply = Call({{"do", "outputs"}, {"id", loaded->id}, {"file", scratch_file}},
                                      policy_.run_timeout + policy_.seconds, false, &once.outcome);
    if (reply.ok()) ReadOutputs(scratch_file, &once);
    std::error_code ignored;
    std::filesystem::remove(scratch_file, ignored);
    return once;
  });
  if (results.outcome.ok()) return std::move(results.outputs);
  return IsLasting(results.outcome.failure) ? absl::UnimplementedError(results.outcome.message)
                                            : absl::UnavailableError(results.outcome.message);
}

absl::StatusOr<std::vector<hlo::Literal>> Runner::RunOnce(const Candidate& candidate, const std::string& scratch_file) {
  Keep({});
  warm_up_ = false;
  absl::StatusOr<std::vector<hlo::Literal>> outputs = Outputs(candidate, scratch_file);
  warm_up_ = true;
  Keep({});  // a program that is timed later is loaded anew
  return outputs;
}

Outcome Runner::Inject(const std::string& fault, double timeout_seconds) {
  Outcome outcome;
  (void)Call({{"do", "inject"}, {"fault", fault}}, timeout_seconds, false, &outcome);
  return outcome;
}

}  // namespace smelt::measure
