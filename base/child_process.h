// A process of our own with a limit of memory. It dies with its parent, and what it started dies with it.
//
//   ChildProcess child = ChildProcess::Fork(int64_t{1} << 30, [] { ::execlp("make", "make", nullptr); }).value();
//   std::optional<int> status = child.Ended();  // nothing: it still runs
//   if (!status) status = child.Kill();
//   const bool out_of_memory = WIFEXITED(*status) && WEXITSTATUS(*status) == kOutOfMemoryExit;
#pragma once

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace smelt {

// Exit status of a child that ran out of its memory, where its work says so (std::set_new_handler).
inline constexpr int kOutOfMemoryExit = 86;

// Both ends are closed on exec, and with the object.
class Pipe {
 public:
  // Unavailable: the system has none.
  static absl::StatusOr<Pipe> Open();
  Pipe(Pipe&& other) noexcept : read_(std::exchange(other.read_, -1)), write_(std::exchange(other.write_, -1)) {}
  Pipe& operator=(Pipe&& other) noexcept;
  ~Pipe();

  int read() const { return read_; }
  int write() const { return write_; }
  void CloseRead();
  void CloseWrite();

 private:
  Pipe(int read, int write) : read_(read), write_(write) {}
  int read_, write_;
};

class ChildProcess {
 public:
  // Runs `work` in a forked process, which ends with status 0 after it, without destructors: threads of the parent are
  // not there to be joined. It may allocate and take locks only where the parent has one thread. `memory_bytes`: of
  // private memory, less where this process may not have so much; no limit under sanitizers, whose shadow memory
  // is larger than any. Unavailable, with the system's reason alone: there is no process.
  static absl::StatusOr<ChildProcess> Fork(int64_t memory_bytes, absl::FunctionRef<void()> work);
  ChildProcess(ChildProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills it

  // Its wait status, once it has ended by itself; what it started is killed then.
  std::optional<int> Ended();
  // Kills it with what it started; its wait status.
  int Kill();
  bool running() const { return pid_ > 0; }  // nobody has its wait status yet
  pid_t pid() const { return pid_; }

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace smelt
