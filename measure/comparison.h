// Whether a tuned program is faster than the default: the one rule that decides an answer.
//
//   Comparison c = CompareInterleaved(runner, usual, tuned, {}).value();
//   if (c.better) ...                       // the whole interval of the gain lies above nothing
//
// Both are loaded in one child and timed in turns; this is repeated in several children, because where code and buffers
// come to lie in memory favours one or the other for as long as a process lives. The children are the sample: the gain
// is the mean of their medians, and its interval Student's for so many children, so that few children ask for a large
// gain: two, which say little of how much children differ, are helped by what is known of other machines. How many
// there are follows from the time alone and never from what they showed; a rule that looks again until it is content
// would call a program better than itself. `bench/aa` measures how often that happens.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "measure/runner.h"

namespace smelt::measure {

// A part of a program that seems to run so much faster in another way, alone and in one child, is tried in that way in
// the whole program. This rule and the others of the search choose what is measured next; no answer rests on them.
inline constexpr double kScreeningGain = 0.03;

struct ComparisonOptions {
  int children = 8;
  int rounds = 5;      // of each child; of short programs more
  double seconds = 4;  // no further round of a child after so long, but at least three
  // A child gives the ratio of its least times instead of the median of its rounds' ratios: of a kernel alone, which
  // takes less time than what disturbs it.
  bool least = false;
  // Asked before each child; false ends the comparison with the children that there are. Must not look at times of the
  // programs.
  std::function<bool(int children)> proceed;
};

struct Comparison {
  double usual_seconds = 0, tuned_seconds = 0;  // medians of all rounds
  int children = 0;
  // Logarithms of usual / tuned, about 0.05 for 5 % faster: the mean of the children's medians, and the ends of its
  // interval, which holds the true gain 99 times of 100. Infinitely wide with fewer than two children, unless exact.
  double gain = 0, low = 0, high = 0;
  bool better = false;       // `low` is above 0, and the medians say the same
  double other_seconds = 0;  // median of a third program that was timed beside them; 0: none, or it failed
};

// The fewest children, at most `most`, whose interval lies above nothing where the gain (a logarithm, as
// Comparison::gain) is like this and children differ as they do on a machine that is not quiet. The gain must be known
// from elsewhere, the search's trials for example, and not from the children that are counted.
int ChildrenToTell(double gain, int most);

// Error: the default program cannot be timed. A tuned program that cannot is not better. DeadlineExceeded: the runner's
// time was over before any child was done.
absl::StatusOr<Comparison> CompareInterleaved(Runner& runner, const Candidate& usual, const Candidate& tuned,
                                              const ComparisonOptions& options, const Candidate* other = nullptr);

// The statistics alone: seconds of rounds by child. `exact`: times never vary, as in a simulator, and a gain has no
// interval. `least`: as ComparisonOptions has it.
Comparison CompareRounds(const std::vector<std::vector<double>>& usual, const std::vector<std::vector<double>>& tuned,
                         bool exact = false, bool least = false);

}  // namespace smelt::measure
