#include "measure/worker_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "measure/channel.h"
#include "measure/protocol.h"

namespace smelt::measure {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  bool Open() {
    int descriptors[2];
    if (::pipe2(descriptors, O_CLOEXEC) != 0) return false;
    read = descriptors[0];
    write = descriptors[1];
    return true;
  }
};

// Between fork and exec only functions that are safe there.
[[noreturn]] void RunChild(const char* program, char* const* arguments, const Pipe& requests, const Pipe& replies,
                           pid_t parent, [[maybe_unused]] rlim_t memory) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
  ::dup2(requests.read, STDIN_FILENO);
  // Replies go to descriptor 3: standard output belongs to whoever prints in the child, and is not ours.
  if (replies.write == 3) {
    ::fcntl(3, F_SETFD, 0);
  } else {
    ::dup2(replies.write, 3);
  }
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
#if !defined(__SANITIZE_ADDRESS__)  // its shadow memory is larger than any limit
  rlimit limit{memory, memory};
  ::setrlimit(RLIMIT_DATA, &limit);
#endif
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C goes to the tuner, which ends its children
  ::execv(program, arguments);
  ::_exit(127);
}

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
  Pipe requests, replies;
  if (!requests.Open() || !replies.Open())
    return absl::UnavailableError(absl::StrCat("no pipe for the measuring process: ", std::strerror(errno)));
  std::vector<std::string> words = options.command;
  if (words.empty()) {
    words = {options.program.empty() ? "/proc/self/exe" : options.program, "measure-worker",
             absl::StrCat("--target=", options.target), absl::StrCat("--cpu=", options.cpu)};
    // An empty value after `=` would take the next word for it.
    if (!options.cache_folder.empty()) words.push_back(absl::StrCat("--cache=", options.cache_folder));
  }
  const std::string program = words[0];
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0)
    return absl::UnavailableError(absl::StrCat("the measuring process cannot be started: ", std::strerror(errno)));
  if (pid == 0)
    RunChild(program.c_str(), arguments.data(), requests, replies, parent,
             static_cast<rlim_t>(options.memory_limit_bytes));
  ::setpgid(pid, pid);
  std::unique_ptr<WorkerProcess> worker(
      new WorkerProcess(pid, std::exchange(requests.write, -1), std::exchange(replies.read, -1), options.cancel));
  ::close(std::exchange(requests.read, -1));
  ::close(std::exchange(replies.write, -1));
  // A child that is gone already does not answer the greeting either.
  if (!options.preamble.empty()) SendMessage(worker->to_child_, options.preamble).IgnoreError();
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

int MeasuringCpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return -1;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (CPU_ISSET(cpu, &allowed)) return cpu;
  }
  return -1;
}

WorkerProcess::~WorkerProcess() { Finish(); }

int WorkerProcess::Finish() {
  if (pid_ <= 0) return 0;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(to_child_);
  ::close(from_child_);
  pid_ = -1;
  return status;
}

absl::StatusOr<nlohmann::json> WorkerProcess::Call(const nlohmann::json& request, double timeout_seconds) {
  if (!alive()) return absl::FailedPreconditionError("the measuring process has ended");
  absl::Status sent = SendMessage(to_child_, request);
  absl::StatusOr<nlohmann::json> reply = sent.ok() ? ReceiveMessage(from_child_, timeout_seconds, cancel_) : sent;
  if (reply.ok()) return reply;
  if (absl::IsDeadlineExceeded(reply.status())) {
    Finish();
    return absl::DeadlineExceededError(absl::StrCat("no answer in ", timeout_seconds, " s"));
  }
  if (absl::IsCancelled(reply.status())) {
    Finish();
    return reply.status();
  }
  // The child is going or gone: its own exit status says why, so give it a moment before it is killed.
  int status = 0;
  bool reaped = false;
  for (int i = 0; i < 200 && !reaped; ++i) {
    reaped = ::waitpid(pid_, &status, WNOHANG) == pid_;
    if (!reaped) ::usleep(5000);
  }
  if (reaped) {
    ::kill(-pid_, SIGKILL);
    ::close(to_child_);
    ::close(from_child_);
    pid_ = -1;
  } else {
    Finish();
    return absl::UnavailableError(
        absl::StrCat("the channel to the measuring process broke: ", std::string(reply.status().message())));
  }
  return WhyEnded(status);
}

DeviceFactory LocalChild(WorkerOptions options) {
  return [options = std::move(options)](double start_seconds) -> absl::StatusOr<std::unique_ptr<Device>> {
    WorkerOptions limited = options;
    limited.start_seconds = std::min(options.start_seconds, start_seconds);
    return WorkerProcess::Start(limited);
  };
}

absl::StatusOr<nlohmann::json> AskNewWorker(const WorkerOptions& options, const nlohmann::json& request,
                                            double timeout_seconds) {
  const auto begin = Clock::now();
  const auto left = [&] { return std::max(timeout_seconds - Since(begin), 0.0); };
  const DeviceFactory start = LocalChild(options);
  const auto ask = [&]() -> absl::StatusOr<nlohmann::json> {
    SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Device> worker, start(left()));
    return worker->Call(request, left());
  };
  absl::StatusOr<nlohmann::json> reply = ask();
  return absl::IsUnavailable(reply.status()) ? ask() : reply;
}

}  // namespace smelt::measure
