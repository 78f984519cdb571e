// The measuring child: a process of its own group with limits, that compiles and times what it is sent, and may die of
// it.
//
//   auto worker = WorkerProcess::Start({.target = "cpu:threads=1"}).value();
//   auto reply = worker->Call({{"do", "load"}, {"module", text}}, 60);
//
// The child is this program started again with the hidden verb `measure-worker` (or another program given in the
// options). It dies with its parent, and within a second of a call's limit.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/child_process.h"
#include "measure/core_claim.h"
#include "measure/device.h"
#include "nlohmann/json_fwd.hpp"

namespace smelt::measure {

struct WorkerOptions {
  std::string program;  // path of the smelt tool; empty: /proc/self/exe
  // Another program that speaks the protocol (protocol.h), its path first; then `program` and `target` do not count.
  std::vector<std::string> command;
  std::string preamble;        // of such a program, where not empty: a JSON string sent before the first request
  std::string target = "cpu";  // a TargetId that the child understands
  std::string cache_folder;    // of compiled kernels; empty: in memory only
  int64_t memory_limit_bytes = int64_t{12} << 30;
  double start_seconds = 60;                  // that it has to start and answer
  int cores = 0;                              // how many it keeps to (core_claim.h); 0: any
  const std::atomic<bool>* cancel = nullptr;  // once true, a call in progress ends and the child with it
};

class WorkerProcess : public Device {
 public:
  // Errors: Unavailable, FailedPrecondition (the child refuses to work here, and says why, or speaks another version of
  // the protocol), DeadlineExceeded (it did not answer within the options' `start_seconds`), Cancelled.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const WorkerOptions& options);

  // Aborted names the signal that the child died of; Unavailable: something else than itself ended it, or the channel
  // to it. After DeadlineExceeded it was killed.
  absl::StatusOr<nlohmann::json> Call(const nlohmann::json& request, double timeout_seconds) override;
  bool alive() const override { return child_.running(); }
  pid_t pid() const { return child_.pid(); }

 private:
  WorkerProcess(ChildProcess child, Pipe requests, Pipe replies, const WorkerOptions& options,
                std::shared_ptr<const CoreClaim> cores)
      : cores_(std::move(cores)),
        child_(std::move(child)),
        requests_(std::move(requests)),
        replies_(std::move(replies)),
        cancel_(options.cancel) {}

  std::shared_ptr<const CoreClaim> cores_;
  ChildProcess child_;
  Pipe requests_, replies_;
  const std::atomic<bool>* cancel_;
};

// Starts such a child whenever it is called, within the smaller of its two limits.
DeviceFactory LocalChild(WorkerOptions options);

// A child that is asked several things: started with the first request, and anew with the next one after it ended.
class KeptWorker {
 public:
  explicit KeptWorker(WorkerOptions options) : options_(std::move(options)) {}

  const WorkerOptions& options() const { return options_; }
  // The reply, of another child where something else than the request ended the first, all of it within
  // `timeout_seconds`. Errors: those of Start and Call.
  absl::StatusOr<nlohmann::json> Ask(const nlohmann::json& request, double timeout_seconds);

 private:
  const WorkerOptions options_;
  std::unique_ptr<Device> worker_;
};

// The same of a child for this one request.
absl::StatusOr<nlohmann::json> AskNewWorker(const WorkerOptions& options, const nlohmann::json& request,
                                            double timeout_seconds);

}  // namespace smelt::measure
