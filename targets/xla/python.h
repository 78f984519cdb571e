// The Python that holds XLA: which one, and how the child with it is started.
//
//   measure::WorkerOptions worker = FindXlaWorker({.threads = 2}).value();
//   std::unique_ptr<measure::WorkerProcess> process = measure::WorkerProcess::Start(worker).value();
//
// Tried in this order: the one that is asked for, and no other then; .venv/bin/python of the checkout (scripts/setup.sh
// --jax makes it); python3.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "measure/worker_process.h"

namespace smelt::xla {

inline constexpr const char* kPythonHelp =
    "Python with jax and jaxlib 0.10.2, for --target=xla and StableHLO; by default .venv/bin/python of the checkout "
    "(made by "
    "scripts/setup.sh --jax), then python3";

struct XlaWorkerOptions {
  std::string python;  // empty: search
  int threads = 1;     // cores that XLA may use
  int64_t memory_limit_bytes = int64_t{12} << 30;
  double start_seconds = 60;  // that it may take to import XLA
  const std::atomic<bool>* cancel = nullptr;
};

// DeadlineExceeded: one took too long to start. FailedPrecondition, in one line: no Python has what is needed; each
// that was tried, and why not. Asks for versions alone, which takes a tenth of the time that importing XLA does: a
// Python whose XLA is incomplete is told where a worker is started.
absl::StatusOr<measure::WorkerOptions> FindXlaWorker(const XlaWorkerOptions& options);

}  // namespace smelt::xla
