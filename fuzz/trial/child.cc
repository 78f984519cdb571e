#include "fuzz/trial/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace smelt::fuzz {
namespace {

constexpr char kStage = 'S', kFinish = 'F';
constexpr size_t kErrorKept = 4000;
// Wall time that work may take for its processor time: other work takes the rest, or it waits for nothing.
constexpr double kIdleShare = 10;

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
  SMELT_ASSIGN_OR_RETURN(Pipe report, Pipe::Open());
  SMELT_ASSIGN_OR_RETURN(Pipe error, Pipe::Open());
  std::fflush(nullptr);
  absl::StatusOr<ChildProcess> process = ChildProcess::Fork(limits.bytes, [&] {
    ::dup2(error.write(), STDERR_FILENO);
    ::dup2(error.write(), STDOUT_FILENO);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    std::set_new_handler([] { ::_exit(kOutOfMemoryExit); });
    Report to_parent(report.write());
    work(to_parent);
  });
  if (!process.ok())
    return absl::UnavailableError(absl::StrCat("no child process: ", std::string(process.status().message())));
  report.CloseWrite();
  error.CloseWrite();
  ::fcntl(report.read(), F_SETFL, O_NONBLOCK);
  ::fcntl(error.read(), F_SETFL, O_NONBLOCK);
  return std::unique_ptr<Child>(new Child(*std::move(process), std::move(report), std::move(error), limits.seconds));
}

Child::Child(ChildProcess process, Pipe report, Pipe error, double seconds)
    : process_(std::move(process)),
      report_(std::move(report)),
      error_(std::move(error)),
      seconds_(seconds),
      deadline_(kIdleShare * seconds) {}

void Child::Read() {
  char buffer[65536];
  for (ssize_t n; (n = ::read(report_.read(), buffer, sizeof(buffer))) > 0;)
    received_.append(buffer, static_cast<size_t>(n));
  for (ssize_t n; (n = ::read(error_.read(), buffer, sizeof(buffer))) > 0;) {
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
  std::optional<int> status = process_.Ended();
  if (!status) {
    timed_out_ = ProcessorSeconds(process_.pid()) > seconds_ || deadline_.Left() <= 0;
    if (!timed_out_) return false;
    status = process_.Kill();
  }
  finished_ = true;
  Read();
  using Kind = ChildOutcome::Kind;
  outcome_.signal = WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  outcome_.status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 0;
  if (timed_out_) {
    outcome_.kind = Kind::kTimedOut;
  } else if (outcome_.status == kOutOfMemoryExit) {
    outcome_.kind = Kind::kOutOfMemory;
  } else if (outcome_.signal != 0 || outcome_.status != 0) {
    outcome_.kind = Kind::kCrashed;
  }
  return true;
}

void Child::WaitAny(absl::Span<Child* const> children, double seconds) {
  std::vector<pollfd> descriptors;
  for (const Child* child : children) descriptors.push_back({child->report_.read(), POLLIN, 0});
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
