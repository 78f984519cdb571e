#include "fuzz/trial/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace smelt::fuzz {
namespace {

constexpr int kOutOfMemoryStatus = 86;
constexpr char kStage = 'S', kFinish = 'F';
constexpr size_t kErrorKept = 4000;
// Wall time that work may take for its processor time: other work takes the rest, or it waits for nothing.
constexpr double kIdleShare = 10;

[[noreturn]] void OutOfMemory() { ::_exit(kOutOfMemoryStatus); }

[[noreturn]] void RunChild(const std::function<void(Report&)>& work, [[maybe_unused]] const ChildLimits& limits,
                           int report_descriptor, int error_descriptor, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
  ::dup2(error_descriptor, STDERR_FILENO);
  ::dup2(error_descriptor, STDOUT_FILENO);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
#if !defined(__SANITIZE_ADDRESS__)  // its shadow memory is larger than any limit
  const rlimit memory{static_cast<rlim_t>(limits.bytes), static_cast<rlim_t>(limits.bytes)};
  ::setrlimit(RLIMIT_DATA, &memory);
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::set_new_handler(OutOfMemory);
  Report report(report_descriptor);
  work(report);
  // No destructors: threads of the parent's libraries are not here to be joined.
  ::_exit(0);
}

// What all threads of a process that still runs have used; 0 where it has just gone.
double ProcessorSeconds(pid_t pid) {
  clockid_t clock;
  timespec time;
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void Report::Write(char kind, const std::string& text) {
  std::string message(1, kind);
  const uint64_t size = text.size();
  message.append(reinterpret_cast<const char*>(&size), sizeof(size));
  message += text;
  size_t written = 0;
  while (written < message.size()) {
    const ssize_t n = ::write(descriptor_, message.data() + written, message.size() - written);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) written += static_cast<size_t>(n);
  }
}

void Report::Stage(const std::string& stage) { Write(kStage, stage); }
void Report::Finish(const std::string& text) { Write(kFinish, text); }

absl::StatusOr<std::unique_ptr<Child>> Child::Start(const std::function<void(Report&)>& work,
                                                    const ChildLimits& limits) {
  int report[2], error[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return absl::UnavailableError(absl::StrCat("no pipe for a child process: ", std::strerror(errno)));
  if (::pipe2(error, O_CLOEXEC) != 0) {
    const int reason = errno;
    ::close(report[0]), ::close(report[1]);
    return absl::UnavailableError(absl::StrCat("no pipe for a child process: ", std::strerror(reason)));
  }
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) RunChild(work, limits, report[1], error[1], parent);
  const int reason = errno;
  ::close(report[1]), ::close(error[1]);
  if (pid < 0) {
    ::close(report[0]), ::close(error[0]);
    return absl::UnavailableError(absl::StrCat("no child process: ", std::strerror(reason)));
  }
  ::setpgid(pid, pid);
  ::fcntl(report[0], F_SETFL, O_NONBLOCK);
  ::fcntl(error[0], F_SETFL, O_NONBLOCK);
  std::unique_ptr<Child> child(new Child);
  child->pid_ = pid;
  child->report_ = report[0];
  child->error_ = error[0];
  child->seconds_ = limits.seconds;
  child->deadline_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                            std::chrono::duration<double>(kIdleShare * limits.seconds));
  return child;
}

Child::~Child() {
  if (!finished_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(report_);
  ::close(error_);
}

void Child::Read() {
  char buffer[65536];
  for (ssize_t n; (n = ::read(report_, buffer, sizeof(buffer))) > 0;) received_.append(buffer, static_cast<size_t>(n));
  for (ssize_t n; (n = ::read(error_, buffer, sizeof(buffer))) > 0;) {
    outcome_.error.append(buffer, static_cast<size_t>(n));
    if (outcome_.error.size() > 2 * kErrorKept) outcome_.error.erase(0, outcome_.error.size() - kErrorKept);
  }
  constexpr size_t kHeader = 1 + sizeof(uint64_t);
  size_t at = 0;
  while (received_.size() - at >= kHeader) {
    uint64_t size;
    std::memcpy(&size, received_.data() + at + 1, sizeof(size));
    if (received_.size() - at - kHeader < size) break;
    (received_[at] == kStage ? outcome_.stage : outcome_.text) = received_.substr(at + kHeader, size);
    at += kHeader + size;
  }
  received_.erase(0, at);
}

bool Child::Finished() {
  if (finished_) return true;
  Read();
  int status = 0;
  const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
  if (reaped != pid_) {
    if (!timed_out_ && (ProcessorSeconds(pid_) > seconds_ || std::chrono::steady_clock::now() > deadline_)) {
      timed_out_ = true;
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
    }
    return false;
  }
  finished_ = true;
  ::kill(-pid_, SIGKILL);  // whatever it started
  Read();
  using Kind = ChildOutcome::Kind;
  outcome_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (timed_out_) {
    outcome_.kind = Kind::kTimedOut;
  } else if (outcome_.status == kOutOfMemoryStatus) {
    outcome_.kind = Kind::kOutOfMemory;
  } else if (outcome_.signal != 0 || outcome_.status != 0) {
    outcome_.kind = Kind::kCrashed;
  }
  return true;
}

void Child::WaitAny(absl::Span<Child* const> children, double seconds) {
  std::vector<pollfd> descriptors;
  for (const Child* child : children) descriptors.push_back({child->report_, POLLIN, 0});
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(seconds * 1000));
}

absl::StatusOr<ChildOutcome> RunInChild(const std::function<void(Report&)>& work, const ChildLimits& limits,
                                        const std::function<bool()>& cancelled) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Child> child, Child::Start(work, limits));
  Child* const all[] = {child.get()};
  while (!child->Finished()) {
    if (cancelled && cancelled()) return absl::CancelledError("interrupted");
    Child::WaitAny(all, 0.02);
  }
  return child->outcome();
}

}  // namespace smelt::fuzz
