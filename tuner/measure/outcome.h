// What became of one trial: times, or the reason why there are none. Errors of candidates are values, not statuses: a
// search goes on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::tuner {

enum class Failure : uint8_t {
  kNone,
  kBuildFailed,  // the compiler refused it or failed
  kBuildTimedOut,
  kRunCrashed,  // the child died of a signal
  kRunTimedOut,
  kWrongAnswer,    // it ran and disagreed with the evaluator
  kResourceLimit,  // memory
};
std::string_view FailureName(Failure failure);

struct Outcome {
  Failure failure = Failure::kNone;
  std::string message;          // for people: what happened, and how to see it again
  std::vector<double> seconds;  // every repeat
  double compile_seconds = 0;

  bool ok() const { return failure == Failure::kNone; }
  double best() const;  // minimum of the repeats, infinity when there are none
  double median() const;
};

}  // namespace smelt::tuner
