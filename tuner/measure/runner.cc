#include "tuner/measure/runner.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "hlo/golden/safetensors.h"
#include "hlo/status_macros.h"
#include "hlo/text/printer.h"
#include "tuner/measure/kernel_program.h"

namespace smelt::tuner {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

}  // namespace

std::string MeasurePolicy::ToString() const { return absl::StrCat("repeats=", repeats, " seconds=", seconds, " warm"); }

void Runner::SetDeadline(Clock::time_point deadline) {
  deadline_ = deadline;
  out_of_time_ = false;
}

absl::StatusOr<json> Runner::Call(const json& request, double timeout, bool building, Outcome* outcome) {
  const double left = deadline_ ? std::chrono::duration<double>(*deadline_ - Clock::now()).count() : timeout;
  if (left <= 0) {
    out_of_time_ = true;
    outcome->failure = building ? Failure::kBuildTimedOut : Failure::kRunTimedOut;
    outcome->message = "no time is left";
    return absl::DeadlineExceededError(outcome->message);
  }
  const auto start = Clock::now();
  if (worker_ == nullptr || !worker_->alive()) {
    WorkerOptions options = worker_options_;
    if (deadline_) options.start_seconds = std::min(options.start_seconds, left);
    absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
    if (!worker.ok()) {
      out_of_time_ = absl::IsDeadlineExceeded(worker.status()) && options.start_seconds < worker_options_.start_seconds;
      outcome->failure = Failure::kRunCrashed;
      outcome->message = std::string(worker.status().message());
      return worker.status();
    }
    worker_ = *std::move(worker);
    loaded_.clear();
  }
  absl::StatusOr<json> reply = worker_->Call(request, std::min(timeout, left));
  hardware_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
  if (!reply.ok()) {
    out_of_time_ = absl::IsDeadlineExceeded(reply.status()) && left < timeout;
    worker_.reset();
    loaded_.clear();
    outcome->message = std::string(reply.status().message());
    outcome->failure = absl::IsDeadlineExceeded(reply.status())
                           ? (building ? Failure::kBuildTimedOut : Failure::kRunTimedOut)
                       : absl::IsResourceExhausted(reply.status()) ? Failure::kResourceLimit
                                                                   : Failure::kRunCrashed;
    return reply.status();
  }
  if (reply->contains("error")) {
    outcome->failure = reply->value("build", false) ? Failure::kBuildFailed : Failure::kRunCrashed;
    outcome->message = reply->value("error", "");
    return absl::InternalError(outcome->message);
  }
  return reply;
}

void Runner::UseInputs(InputKind kind) {
  if (kind == inputs_) return;
  Keep({});
  inputs_ = kind;
}

json Runner::LoadRequest(const Candidate& candidate) const {
  json request{{"do", "load"}, {"module", candidate.module_text}, {"inputs", std::string(InputKindName(inputs_))}};
  if (!candidate.tiles.empty()) request["tiles"] = candidate.tiles;
  if (!candidate.compiler.empty()) request["compiler"] = candidate.compiler;
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
  Loaded loaded{candidate, reply->value("id", -1), reply->value("compile_seconds", 0.0), {}};
  for (const json& kernel : (*reply)["kernels"]) {
    loaded.kernels.push_back(
        {kernel.value("name", ""), kernel.value("hash", ""), kernel.value("tile", ""), kernel.value("opaque", false)});
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
    } else if (worker_ != nullptr) {
      Outcome ignored;
      (void)Call({{"do", "unload"}, {"id", loaded.id}}, 10, false, &ignored);
      if (worker_ == nullptr) return;  // it died of it, and with it went everything that was loaded
    }
  }
  loaded_ = std::move(left);
}

namespace {

json TimeRequest(const std::vector<int>& ids, int rounds, double seconds) {
  constexpr double kLeastSeconds = 0.03;
  return {{"do", "time"}, {"ids", ids}, {"rounds", rounds}, {"seconds", seconds}, {"least_seconds", kLeastSeconds}};
}

json KernelRequest(const char* what, const fusion::Kernel& kernel, const std::optional<kernels::space::Tile>& tile) {
  json request{{"do", what}, {"module", hlo::ToText(*ProgramOfKernel(kernel), {})}, {"hash", kernel.hash.ToHex()}};
  if (tile) request["tile"] = tile->ToString();
  return request;
}

}  // namespace

Runner::KernelResult Runner::TimeKernel(const fusion::Kernel& kernel, const std::optional<kernels::space::Tile>& tile) {
  KernelResult result;
  if (tile) {
    const absl::StatusOr<std::vector<int64_t>> tiled = kernels::space::TiledDimensions(kernel.computation());
    if (tiled.ok() && tiled->size() != tile->extents.size()) {
      result.outcome.failure = Failure::kBuildFailed;
      result.outcome.message =
          absl::StrCat("tile ", tile->ToString(), " has ", tile->extents.size(), " extents, kernel `", kernel.name,
                       "` has ", tiled->size(), " tiled dimensions");
      return result;
    }
  }
  json request = KernelRequest("time_kernel", kernel, tile);
  request["repeats"] = policy_.repeats;
  request["seconds"] = policy_.seconds;
  absl::StatusOr<json> reply =
      Call(request, policy_.build_timeout + policy_.seconds + policy_.run_timeout, /*building=*/true, &result.outcome);
  if (!reply.ok()) return result;
  result.outcome.seconds = reply->value("seconds", std::vector<double>());
  result.outcome.compile_seconds = reply->value("compile_seconds", 0.0);
  result.trace = reply->value("trace", "");
  result.tile = reply->value("tile", "");
  result.opaque = reply->value("opaque", false);
  return result;
}

Runner::KernelResult Runner::TimeKernelLoop(const std::string& module) {
  KernelResult result;
  const json request{
      {"do", "time_kernel"}, {"module", module}, {"repeats", policy_.repeats}, {"seconds", policy_.seconds}};
  absl::StatusOr<json> reply =
      Call(request, policy_.build_timeout + policy_.seconds + policy_.run_timeout, /*building=*/true, &result.outcome);
  if (!reply.ok()) return result;
  result.outcome.seconds = reply->value("seconds", std::vector<double>());
  result.outcome.compile_seconds = reply->value("compile_seconds", 0.0);
  return result;
}

Outcome Runner::CompileKernel(const fusion::Kernel& kernel, const std::optional<kernels::space::Tile>& tile) {
  Outcome outcome;
  absl::StatusOr<json> reply =
      Call(KernelRequest("compile", kernel, tile), policy_.build_timeout, /*building=*/true, &outcome);
  if (reply.ok()) outcome.compile_seconds = reply->value("compile_seconds", 0.0);
  return outcome;
}

Runner::ProgramResult Runner::TimeProgram(const Candidate& candidate, const Candidate& reference, int rounds,
                                          double seconds, int kernel_rounds) {
  ProgramResult result;
  Keep({&candidate, &reference});
  const Loaded* base = Load(reference, &result.outcome);
  if (base == nullptr) {
    result.reference_failed = true;
    return result;
  }
  const int base_id = base->id;
  const Loaded* loaded = Load(candidate, &result.outcome);
  if (loaded == nullptr) return result;
  result.outcome.compile_seconds = loaded->compile_seconds;
  result.kernels = loaded->kernels;
  const int id = loaded->id;
  absl::StatusOr<json> reply = Call(TimeRequest({base_id, id}, rounds, seconds), seconds + policy_.run_timeout,
                                    /*building=*/false, &result.outcome);
  if (!reply.ok()) return result;
  result.outcome.reference_seconds = (*reply)["seconds"].at(0).get<std::vector<double>>();
  result.outcome.seconds = (*reply)["seconds"].at(1).get<std::vector<double>>();
  if (kernel_rounds == 0) return result;
  reply = Call({{"do", "kernel_seconds"}, {"id", id}, {"rounds", kernel_rounds}}, policy_.run_timeout, false,
               &result.outcome);
  if (!reply.ok()) return result;
  const std::vector<double> times = reply->value("seconds", std::vector<double>());
  const std::vector<int64_t> executions = reply->value("executions", std::vector<int64_t>());
  for (size_t k = 0; k < std::min({times.size(), executions.size(), result.kernels.size()}); ++k) {
    result.kernels[k].seconds = times[k];
    result.kernels[k].executions = executions[k];
  }
  return result;
}

std::vector<Outcome> Runner::TimePrograms(const std::vector<Candidate>& candidates, int rounds, double seconds) {
  std::vector<Outcome> outcomes(candidates.size());
  // A candidate may kill the child while the others are loaded in it: those still without a result are then tried again
  // without the culprit, so this ends after at most one turn a candidate.
  for (size_t attempt = 0; attempt <= candidates.size(); ++attempt) {
    worker_.reset();  // programs of an earlier call would take memory and caches
    loaded_.clear();
    std::vector<int> ids;
    std::vector<size_t> which;
    bool died = false;
    for (size_t i = 0; i < candidates.size() && !died; ++i) {
      if (!outcomes[i].ok()) continue;
      // Equal candidates are loaded each on its own: that is how noise is measured.
      const Loaded* loaded = LoadAnew(candidates[i], &outcomes[i]);
      died = worker_ == nullptr;
      if (loaded == nullptr) continue;
      outcomes[i].compile_seconds = loaded->compile_seconds;
      ids.push_back(loaded->id);
      which.push_back(i);
    }
    if (died && !out_of_time_) continue;
    if (ids.empty() || out_of_time_) return outcomes;
    Outcome together;
    absl::StatusOr<json> reply = Call(TimeRequest(ids, rounds, seconds), seconds + policy_.run_timeout,
                                      /*building=*/false, &together);
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
  return outcomes;
}

absl::StatusOr<std::vector<hlo::Literal>> Runner::Outputs(const Candidate& candidate, const std::string& scratch_file) {
  Outcome outcome;
  const Loaded* loaded = Load(candidate, &outcome);
  if (loaded == nullptr) return absl::InternalError(outcome.message);
  absl::StatusOr<json> reply = Call({{"do", "outputs"}, {"id", loaded->id}, {"file", scratch_file}},
                                    policy_.run_timeout + policy_.seconds, false, &outcome);
  absl::StatusOr<hlo::SafetensorsFile> file =
      reply.ok() ? hlo::ReadSafetensors(scratch_file) : absl::StatusOr<hlo::SafetensorsFile>(reply.status());
  std::error_code error;
  std::filesystem::remove(scratch_file, error);
  if (!file.ok()) return file.status();
  std::vector<hlo::Literal> outputs;
  for (hlo::NamedTensor& tensor : file->tensors) outputs.push_back(std::move(tensor.literal));
  return outputs;
}

Outcome Runner::Inject(const std::string& fault, double timeout_seconds) {
  Outcome outcome;
  (void)Call({{"do", "inject"}, {"fault", fault}}, timeout_seconds, false, &outcome);
  return outcome;
}

}  // namespace smelt::tuner
