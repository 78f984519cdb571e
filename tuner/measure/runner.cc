#include "tuner/measure/runner.h"

#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "hlo/golden/safetensors.h"
#include "hlo/status_macros.h"
#include "hlo/text/printer.h"

namespace smelt::tuner {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

json LoadRequest(const Candidate& candidate) {
  json request{{"do", "load"}, {"module", candidate.module_text}};
  if (!candidate.tiles.empty()) request["tiles"] = candidate.tiles;
  return request;
}

}  // namespace

std::string MeasurePolicy::ToString() const { return absl::StrCat("repeats=", repeats, " seconds=", seconds, " warm"); }

absl::StatusOr<json> Runner::Call(const json& request, double timeout, bool building, Outcome* outcome) {
  if (worker_ == nullptr || !worker_->alive()) {
    absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(worker_options_);
    if (!worker.ok()) {
      outcome->failure = Failure::kRunCrashed;
      outcome->message = std::string(worker.status().message());
      return worker.status();
    }
    worker_ = *std::move(worker);
  }
  const auto start = Clock::now();
  absl::StatusOr<json> reply = worker_->Call(request, timeout);
  hardware_seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
  if (!reply.ok()) {
    worker_.reset();
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

Runner::KernelResult Runner::TimeKernel(const fusion::Kernel& kernel, const std::optional<kernels::space::Tile>& tile) {
  KernelResult result;
  json request{{"do", "time_kernel"},
               {"module", hlo::ToText(*kernel.module, {})},
               {"hash", kernel.hash.ToHex()},
               {"repeats", policy_.repeats},
               {"seconds", policy_.seconds}};
  if (tile) request["tile"] = tile->ToString();
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

std::vector<Outcome> Runner::TimePrograms(const std::vector<Candidate>& candidates, int rounds, double seconds) {
  std::vector<Outcome> outcomes(candidates.size());
  // A candidate may kill the child while the others are loaded in it: those still without a result are then tried again
  // without the culprit, so this ends after at most one turn a candidate.
  for (size_t attempt = 0; attempt <= candidates.size(); ++attempt) {
    worker_.reset();  // programs of an earlier call would take memory and caches
    std::vector<int> ids;
    std::vector<size_t> which;
    bool died = false;
    for (size_t i = 0; i < candidates.size() && !died; ++i) {
      if (!outcomes[i].ok()) continue;
      absl::StatusOr<json> reply =
          Call(LoadRequest(candidates[i]), policy_.build_timeout, /*building=*/true, &outcomes[i]);
      if (!reply.ok()) {
        died = worker_ == nullptr;
        continue;
      }
      outcomes[i].compile_seconds = reply->value("compile_seconds", 0.0);
      ids.push_back(reply->value("id", -1));
      which.push_back(i);
      // Its first run alone tells who crashes.
      reply = Call({{"do", "time"}, {"ids", {ids.back()}}, {"rounds", 1}, {"seconds", 0}}, policy_.run_timeout,
                   /*building=*/false, &outcomes[i]);
      if (!reply.ok()) {
        died = worker_ == nullptr;
        ids.pop_back();
        which.pop_back();
      }
    }
    if (died) continue;
    if (ids.empty()) return outcomes;
    Outcome together;
    absl::StatusOr<json> reply =
        Call({{"do", "time"}, {"ids", ids}, {"rounds", rounds}, {"seconds", seconds}}, seconds + policy_.run_timeout,
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
  SMELT_ASSIGN_OR_RETURN(json loaded, Call(LoadRequest(candidate), policy_.build_timeout, true, &outcome));
  const int id = loaded.value("id", -1);
  absl::StatusOr<json> reply = Call({{"do", "outputs"}, {"id", id}, {"file", scratch_file}},
                                    policy_.run_timeout + policy_.seconds, false, &outcome);
  if (!reply.ok()) return reply.status();
  Outcome ignored;
  (void)Call({{"do", "unload"}, {"id", id}}, 10, false, &ignored);
  absl::StatusOr<hlo::SafetensorsFile> file = hlo::ReadSafetensors(scratch_file);
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
