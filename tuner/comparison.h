// Whether a tuned program is faster than the default, beyond noise.
//
//   Comparison c = CompareInterleaved(runner, usual, tuned, {}).value();
//   if (c.better) ...                       // c.gain > 2 * c.noise, and in every child
//
// Both are loaded in one child and timed in turns; this is repeated in several children, because where code and buffers
// come to lie in memory favours one or the other for as long as a process lives.
#pragma once

#include "absl/status/statusor.h"
#include "tuner/measure/runner.h"

namespace smelt::tuner {

struct ComparisonOptions {
  int children = 3;  // as many again where the tuned program was faster in each, but not beyond noise
  int rounds = 7;      // of each child
  double seconds = 4;  // no further round of a child after so long, but at least three
};

struct Comparison {
  double usual_seconds = 0, tuned_seconds = 0;  // medians of all rounds
  double gain = 0;   // median over the rounds of log(usual / tuned): about 0.05 for 5 % faster
  double noise = 0;  // standard error of the gain, from the spread of rounds and of children
  bool always = false;  // faster in the median of every child
  bool better = false;
  double other_seconds = 0;  // median of a third program that was timed beside them; 0: none, or it failed
};

// Error: the default program cannot be timed. A tuned program that cannot is not better.
absl::StatusOr<Comparison> CompareInterleaved(Runner& runner, const Candidate& usual, const Candidate& tuned,
                                              const ComparisonOptions& options, const Candidate* other = nullptr);

// The statistics alone: seconds of rounds by child.
Comparison CompareRounds(const std::vector<std::vector<double>>& usual, const std::vector<std::vector<double>>& tuned);

}  // namespace smelt::tuner
