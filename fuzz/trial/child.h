// Work in a forked child with a limit of time and memory, so that a crash, a hang or a leak is a result.
//
//   auto child = Child::Start([](Report& report) { report.Stage("compile"); report.Finish("agrees"); }, {}).value();
//   while (!child->Finished()) Child::WaitAny(std::vector{child.get()}, 0.1);
//   child->outcome().kind                           // kFinished, kCrashed, kTimedOut, kOutOfMemory
//
// The parent must have one thread while it starts children: a forked child has no other. A child dies with its parent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/child_process.h"
#include "base/deadline.h"

namespace smelt::fuzz {

struct ChildLimits {
  double seconds = 60;               // of processor time; of wall time ten times that, on a machine with other work
  int64_t bytes = int64_t{4} << 30;  // of private memory; not under the address sanitizer
};

// The child's way to tell what it is at and what came out.
class Report {
 public:
  explicit Report(int descriptor) : descriptor_(descriptor) {}
  void Stage(const std::string& stage);  // one line; the last one is in the outcome
  void Finish(const std::string& text);  // any text; the last thing

 private:
  void Write(char kind, const std::string& text);
  int descriptor_;
};

struct ChildOutcome {
  enum class Kind : uint8_t { kFinished, kCrashed, kTimedOut, kOutOfMemory };
  Kind kind = Kind::kFinished;
  std::string text;   // of Finish
  std::string stage;  // the last one
  std::string error;  // what it wrote to standard error, the end of it
  int signal = 0;     // kCrashed: 0 where it ended by itself with a status
  int status = 0;
};

class Child {
 public:
  // It is killed where its object ends before it.
  static absl::StatusOr<std::unique_ptr<Child>> Start(const std::function<void(Report&)>& work,
                                                      const ChildLimits& limits);
  bool Finished();
  const ChildOutcome& outcome() const { return outcome_; }
  // Returns once one of them has something to say, or after that many seconds.
  static void WaitAny(absl::Span<Child* const> children, double seconds);

 private:
  Child(ChildProcess process, Pipe report, Pipe error, double seconds);
  void Read();

  ChildProcess process_;
  Pipe report_, error_;
  bool finished_ = false, timed_out_ = false;
  double seconds_;  // of processor time that it may take
  Deadline deadline_;
  std::string received_;
  ChildOutcome outcome_;
};

// Start and wait; a cancelled wait kills the child and gives a Cancelled error.
absl::StatusOr<ChildOutcome> RunInChild(const std::function<void(Report&)>& work, const ChildLimits& limits,
                                        const std::function<bool()>& cancelled = {});

}  // namespace smelt::fuzz
