// What became of one trial: times, or the reason why there are none. Errors of candidates are values, not statuses: a
// search goes on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::measure {

enum class Failure : uint8_t {
  kNone,
  kBuildFailed,  // the compiler refused it or failed
  kBuildTimedOut,
  kRunCrashed,  // the child died of a signal
  kRunTimedOut,
  kWrongAnswer,    // it ran and disagreed with the evaluator
  kResourceLimit,  // memory
  kEnvironment,    // a disk, a process or another thing that the trial needed: nothing is known of the candidate
};
std::string_view FailureName(Failure failure);

// Whether the candidate would meet it again, so that it may be recorded. What memory there is and what the system
// refuses are not the candidate's.
bool IsLasting(Failure failure);

struct Outcome {
  Failure failure = Failure::kNone;
  std::string message;          // for people: what happened, and how to see it again
  std::vector<double> seconds;  // every repeat
  // Times of the reference program, one an entry of `seconds`, timed in turn with it in the same child; of a kernel's
  // reference kernel two, before and after it. Empty without one.
  std::vector<double> reference_seconds;
  double compile_seconds = 0;

  bool ok() const { return failure == Failure::kNone; }
  double best() const;  // minimum of the repeats, infinity when there are none
  double median() const;
  // Median over the repeats of time over the reference's time: comparable between trials although the machine's speed
  // drifts. Infinity when there are none.
  double relative() const;
};

// Middle of the values (the upper of two), infinity when there are none.
double Median(std::vector<double> values);

}  // namespace smelt::measure
