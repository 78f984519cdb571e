#include "base/child_process.h"

#include <signal.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace smelt {
namespace {

constexpr int64_t kMemory = int64_t{256} << 20;

int WaitFor(ChildProcess& child) {
  for (;;) {
    if (const std::optional<int> status = child.Ended()) return *status;
    ::usleep(1000);
  }
}

// What comes through a pipe until every process that could write into it has closed its end.
std::string ReadToTheEnd(Pipe& pipe) {
  pipe.CloseWrite();
  std::string text;
  char buffer[64];
  for (ssize_t n; (n = ::read(pipe.read(), buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(n));
  return text;
}

void Say(const Pipe& pipe, const char* letter) { EXPECT_EQ(::write(pipe.write(), letter, 1), 1); }

[[noreturn]] void SleepForEver() {
  for (;;) ::pause();
}

TEST(ChildProcess, RunsItsWorkAndTellsHowItEnded) {
  Pipe pipe = Pipe::Open().value();
  ChildProcess child = ChildProcess::Fork(kMemory, [&] { Say(pipe, "a"); }).value();
  EXPECT_EQ(ReadToTheEnd(pipe), "a");
  const int status = WaitFor(child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(child.running());
  EXPECT_FALSE(child.Ended().has_value());

  ChildProcess failing = ChildProcess::Fork(kMemory, [] { ::_exit(7); }).value();
  EXPECT_EQ(WEXITSTATUS(WaitFor(failing)), 7);
  ChildProcess crashing = ChildProcess::Fork(kMemory, [] { ::abort(); }).value();
  EXPECT_EQ(WTERMSIG(WaitFor(crashing)), SIGABRT);
}

TEST(ChildProcess, AKilledOneTakesWhatItStartedWithIt) {
  Pipe pipe = Pipe::Open().value();
  ChildProcess child = ChildProcess::Fork(kMemory, [&] {
                         if (::fork() == 0) Say(pipe, "b");
                         SleepForEver();
                       }).value();
  char letter = 0;
  EXPECT_EQ(::read(pipe.read(), &letter, 1), 1);  // the grandchild lives
  EXPECT_FALSE(child.Ended().has_value());
  EXPECT_EQ(WTERMSIG(child.Kill()), SIGKILL);
  EXPECT_EQ(ReadToTheEnd(pipe), "");
}

TEST(ChildProcess, OneThatEndsTakesWhatItStartedWithIt) {
  Pipe pipe = Pipe::Open().value();
  ChildProcess child = ChildProcess::Fork(kMemory, [&] {
                         if (::fork() == 0) SleepForEver();
                       }).value();
  EXPECT_EQ(WEXITSTATUS(WaitFor(child)), 0);
  EXPECT_EQ(ReadToTheEnd(pipe), "");
}

TEST(ChildProcess, DiesWithItsParent) {
  Pipe pipe = Pipe::Open().value();
  ChildProcess parent = ChildProcess::Fork(kMemory, [&] {
                          auto child = ChildProcess::Fork(kMemory, [&] {
                            Say(pipe, "c");
                            SleepForEver();
                          });
                          char letter;
                          ::_exit(::read(pipe.read(), &letter, 1) == 1 ? 0 : 1);  // no destructor, which would kill it
                        }).value();
  EXPECT_EQ(WEXITSTATUS(WaitFor(parent)), 0);
  EXPECT_EQ(ReadToTheEnd(pipe), "");
}

TEST(ChildProcess, EndsAtItsLimitOfMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's shadow is larger than any limit";
#endif
  ChildProcess child = ChildProcess::Fork(kMemory, [] {
                         std::set_new_handler([] { ::_exit(kOutOfMemoryExit); });
                         std::vector<std::unique_ptr<char[]>> blocks;
                         for (int64_t taken = 0; taken < 2 * kMemory; taken += 64 << 20) {
                           blocks.emplace_back(new char[64 << 20]);
                           std::fill_n(blocks.back().get(), 64 << 20, 1);
                         }
                       }).value();
  EXPECT_EQ(WEXITSTATUS(WaitFor(child)), kOutOfMemoryExit);
}

}  // namespace
}  // namespace smelt
