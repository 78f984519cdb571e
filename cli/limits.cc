#include "cli/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include "base/write_file.h"

namespace smelt::cli {
namespace {

// Written before the work starts: there may be no memory for words when they are needed.
char out_of_memory[256];
char out_of_time[256];

[[noreturn]] void End(const char* message) {
  RemoveUnfinishedFile();
  // Neither buffers nor destructors: what the other threads hold is unknown.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, std::strlen(message));
  _exit(1);
}

[[noreturn]] void EndOutOfMemory() { End(out_of_memory); }

// An exception that nothing caught, in any thread: of memory, or our own bug, which is told before the abort.
[[noreturn]] void Terminate() {
  try {
    if (std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    EndOutOfMemory();
  } catch (const std::exception& error) {
    RemoveUnfinishedFile();
    std::fprintf(stderr, "smelt: an error of its own, please report it: %s\n", error.what());
  } catch (...) {
  }
  std::abort();
}

void SetMemoryLimit(uint64_t bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // their own bookkeeping reserves terabytes
#endif
  rlimit limit;
  if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes) return;
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_DATA, &limit);
}

// Beyond it the system would end this process, or another one, without a word.
uint64_t PhysicalMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

void WaitForTheEnd(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  End(out_of_time);
}

}  // namespace

void AddLimits(Arguments& arguments, Limits& limits) {
  arguments
      .Add("--memory-limit", limits.memory_bytes, "Memory that may be used, in bytes or as 500M, 4G; more is an error")
      .Size();
  arguments.Add("--time-limit", limits.seconds, "Seconds after which the tool gives up with an error")
      .Between(1e-3, 1e9);
}

void Impose(const Limits& limits, std::string_view verb) {
  const int length = static_cast<int>(verb.size());
  if (limits.memory_bytes > 0) {
    std::snprintf(out_of_memory, sizeof(out_of_memory),
                  "smelt %.*s: needs more memory than --memory-limit=%llu allows; give more\n", length, verb.data(),
                  static_cast<unsigned long long>(limits.memory_bytes));
    SetMemoryLimit(limits.memory_bytes);
  } else {
    SetMemoryLimit(PhysicalMemory());
    std::snprintf(out_of_memory, sizeof(out_of_memory), "smelt %.*s: needs more memory than this machine has\n", length,
                  verb.data());
  }
  std::set_new_handler(EndOutOfMemory);
  std::set_terminate(Terminate);
  if (limits.seconds > 0) {
    std::snprintf(out_of_time, sizeof(out_of_time), "smelt %.*s: not done after the %g seconds of --time-limit\n",
                  length, verb.data(), limits.seconds);
    std::thread(WaitForTheEnd, limits.seconds).detach();
  }
}

}  // namespace smelt::cli
