#include "measure/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "measure/channel.h"
#include "measure/protocol.h"
#include "nlohmann/json.hpp"

namespace smelt::measure {
namespace {

// The signals by which a process ends for what it does itself; every other one was sent by somebody.
constexpr int kOwnSignals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
// A compiler's fatal error ends with it; our children end with other numbers, and a program of kernels with none.
constexpr int kFatalErrorExit = 1;

// Why a child ended, by its wait status.
absl::Status WhyEnded(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryExit)
    return absl::ResourceExhaustedError("the measuring process reached its memory limit");
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const std::string text =
        absl::StrCat("the measuring process died of signal ", signal, " (", strsignal(signal), ")");
    const bool own = std::find(std::begin(kOwnSignals), std::end(kOwnSignals), signal) != std::end(kOwnSignals);
    return own ? absl::AbortedError(text) : absl::UnavailableError(text);
  }
  const std::string text = absl::StrCat("the measuring process ended with status ", WEXITSTATUS(status));
  return WEXITSTATUS(status) == kFatalErrorExit ? absl::AbortedError(text) : absl::UnavailableError(text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerOptions& options) {
  SMELT_ASSIGN_OR_RETURN(Pipe requests, Pipe::Open());
  SMELT_ASSIGN_OR_RETURN(Pipe replies, Pipe::Open());
  std::vector<std::string> words = options.command;
  if (words.empty()) {
    words = {options.program.empty() ? "/proc/self/exe" : options.program, "measure-worker",
             absl::StrCat("--target=", options.target)};
    // An empty value after `=` would take the next word for it.
    if (!options.cache_folder.empty()) words.push_back(absl::StrCat("--cache=", options.cache_folder));
  }
  const std::string program = words[0];
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  std::shared_ptr<const CoreClaim> cores;
  if (options.cores > 0) cores = CoreClaim::Take(options.cores);
  // Only functions that are safe between fork and exec: this process may have other threads.
  absl::StatusOr<ChildProcess> child = ChildProcess::Fork(options.memory_limit_bytes, [&] {
    ::dup2(requests.read(), STDIN_FILENO);
    // Replies go to descriptor 3: standard output belongs to whoever prints in the child, and is not ours.
    if (replies.write() == 3) {
      ::fcntl(3, F_SETFD, 0);
    } else {
      ::dup2(replies.write(), 3);
    }
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    if (cores != nullptr) RunOn(cores->cores());
    ::signal(SIGINT, SIG_IGN);  // Ctrl-C goes to the tuner, which ends its children
    ::execv(program.c_str(), arguments.data());
    ::_exit(127);
  });
  if (!child.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the measuring process cannot be started: ", std::string(child.status().message())));
  }
  requests.CloseRead();
  replies.CloseWrite();
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(*std::move(child), std::move(requests), std::move(replies), options, std::move(cores)));
  // A child that is gone already does not answer the greeting either.
  if (!options.preamble.empty()) SendMessage(worker->requests_.write(), options.preamble).IgnoreError();
  absl::StatusOr<nlohmann::json> hello = worker->Call({{"do", "hello"}}, options.start_seconds);
  if (absl::IsCancelled(hello.status()) || absl::IsDeadlineExceeded(hello.status())) return hello.status();
  if (!hello.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the measuring process (", program, ") did not start: ", std::string(hello.status().message())));
  }
  if (const absl::Status refused = ErrorOf(*hello); !refused.ok())
    return absl::FailedPreconditionError(refused.message());
  if (const absl::Status other = CheckVersion(*hello); !other.ok())
    return absl::FailedPreconditionError(absl::StrCat("the measuring process (", program, "): ", other.message()));
  return worker;
}

absl::StatusOr<nlohmann::json> WorkerProcess::Call(const nlohmann::json& request, double timeout_seconds) {
  if (!alive()) return absl::FailedPreconditionError("the measuring process has ended");
  absl::Status sent = SendMessage(requests_.write(), request);
  absl::StatusOr<nlohmann::json> reply = sent.ok() ? ReceiveMessage(replies_.read(), timeout_seconds, cancel_) : sent;
  if (reply.ok()) return reply;
  if (absl::IsDeadlineExceeded(reply.status()) || absl::IsCancelled(reply.status())) {
    child_.Kill();
    return absl::IsCancelled(reply.status())
               ? reply.status()
               : absl::DeadlineExceededError(absl::StrCat("no answer in ", timeout_seconds, " s"));
  }
  // The child is going or gone: its own exit status says why, so give it a moment before it is killed.
  for (int i = 0; i < 200; ++i) {
    if (const std::optional<int> status = child_.Ended()) return WhyEnded(*status);
    ::usleep(5000);
  }
  child_.Kill();
  return absl::UnavailableError(
      absl::StrCat("the channel to the measuring process broke: ", std::string(reply.status().message())));
}

DeviceFactory LocalChild(WorkerOptions options) {
  return [options = std::move(options)](double start_seconds) -> absl::StatusOr<std::unique_ptr<Device>> {
    WorkerOptions limited = options;
    limited.start_seconds = std::min(options.start_seconds, start_seconds);
    return WorkerProcess::Start(limited);
  };
}

absl::StatusOr<nlohmann::json> KeptWorker::Ask(const nlohmann::json& request, double timeout_seconds) {
  const auto begin = Clock::now();
  const auto left = [&] { return std::max(timeout_seconds - Since(begin), 0.0); };
  const auto ask = [&]() -> absl::StatusOr<nlohmann::json> {
    if (worker_ == nullptr || !worker_->alive()) {
      SMELT_ASSIGN_OR_RETURN(worker_, LocalChild(options_)(left()));
    }
    return worker_->Call(request, left());
  };
  absl::StatusOr<nlohmann::json> reply = ask();
  return absl::IsUnavailable(reply.status()) ? ask() : reply;
}

absl::StatusOr<nlohmann::json> AskNewWorker(const WorkerOptions& options, const nlohmann::json& request,
                                            double timeout_seconds) {
  return KeptWorker(options).Ask(request, timeout_seconds);
}

}  // namespace smelt::measure
