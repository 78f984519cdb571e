#include "targets/xla/python.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "targets/xla/worker_text.h"

namespace smelt::xla {
namespace {

// Runs the program that the first message on its standard input is, so that lists of processes do not show all of it.
// Without the folder that it is started in, where a file may have the name of a module.
constexpr char kBootstrap[] = R"(import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json, os, struct
def exactly(count):
  data = b""
  while len(data) < count:
    part = os.read(0, count - len(data))
    if not part: sys.exit(1)
    data += part
  return data
exec(compile(json.loads(exactly(struct.unpack("=I", exactly(4))[0])), "smelt/targets/xla/worker.py", "exec"))
)";

// The path of a program as a shell would find it; empty: there is none.
std::string OnPath(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = absl::StrCat(folder.empty() ? "." : folder, "/", program);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace

absl::StatusOr<measure::WorkerOptions> FindXlaWorker(const XlaWorkerOptions& options) {
  std::vector<std::string> candidates = {options.python};
  if (options.python.empty()) candidates = {absl::StrCat(SMELT_SOURCE_DIR, "/.venv/bin/python"), "python3"};
  std::string tried;
  for (const std::string& candidate : candidates) {
    const std::string program = OnPath(candidate);
    absl::StrAppend(&tried, tried.empty() ? "" : "; ", candidate, ": ");
    if (program.empty() || ::access(program.c_str(), X_OK) != 0) {
      absl::StrAppend(&tried, "no such program");
      continue;
    }
    measure::WorkerOptions worker;
    worker.command = {program, "-c", kBootstrap, absl::StrCat(options.threads)};
    worker.preamble = WorkerText();
    worker.memory_limit_bytes = options.memory_limit_bytes;
    worker.cores = options.threads;
    worker.cancel = options.cancel;
    measure::WorkerOptions greeter = worker;
    greeter.command.push_back("greet");
    const absl::Status started = measure::AskNewWorker(greeter, {{"do", "hello"}}, options.start_seconds).status();
    if (started.ok()) return worker;
    if (absl::IsCancelled(started) || absl::IsDeadlineExceeded(started)) return started;
    absl::StrAppend(&tried, std::string(started.message()));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("XLA needs a Python with jax and jaxlib 0.10.2 (", tried,
                   "); scripts/setup.sh --jax makes one, --python=PATH names another"));
}

}  // namespace smelt::xla
