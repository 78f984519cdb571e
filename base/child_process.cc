#include "base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace smelt {
namespace {

void Close(int* descriptor) {
  if (*descriptor >= 0) ::close(*descriptor);
  *descriptor = -1;
}

}  // namespace

absl::StatusOr<Pipe> Pipe::Open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return absl::UnavailableError(absl::StrCat("no pipe for a child process: ", std::strerror(errno)));
  return Pipe(ends[0], ends[1]);
}

Pipe& Pipe::operator=(Pipe&& other) noexcept {
  std::swap(read_, other.read_);
  std::swap(write_, other.write_);
  return *this;
}

Pipe::~Pipe() {
  CloseRead();
  CloseWrite();
}

void Pipe::CloseRead() { Close(&read_); }
void Pipe::CloseWrite() { Close(&write_); }

absl::StatusOr<ChildProcess> ChildProcess::Fork([[maybe_unused]] int64_t memory_bytes, absl::FunctionRef<void()> work) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return absl::UnavailableError(std::strerror(errno));
  if (pid == 0) {
    // Only functions that are safe after fork, whatever other threads the parent has.
    // A session of its own, and so a group: Linux shares cores among sessions first, and priorities count within one.
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // the parent died before the line above
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const auto bytes = static_cast<rlim_t>(memory_bytes);
    rlimit memory;  // what this process may have, where that is less
    if (::getrlimit(RLIMIT_DATA, &memory) != 0 || memory.rlim_cur > bytes) memory = {bytes, bytes};
    ::setrlimit(RLIMIT_DATA, &memory);
#endif
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    work();
    ::_exit(0);
  }
  return ChildProcess(pid);
}

ChildProcess::~ChildProcess() {
  if (running()) Kill();
}

std::optional<int> ChildProcess::Ended() {
  int status = 0;
  if (!running() || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  ::kill(-pid_, SIGKILL);
  pid_ = -1;
  return status;
}

int ChildProcess::Kill() {
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // it may not have come to be a group yet
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

}  // namespace smelt
