// Which of the best few trials is the answer: of many trials the luckiest looks best, and is not.
//
//   const size_t winner = RaceWinner(runner, usual, {tuned, other}, {});
//
// All are timed in turn with the default in several processes; the largest gain, as comparisons count it
// (measure/comparison.h), wins. Whether it is better than the default is for a comparison to decide.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "measure/runner.h"

namespace smelt::tuner {

struct RaceOptions {
  int children = 3;
  int rounds = 10;     // of each child; of short programs more
  double seconds = 1;  // of each child
  size_t most = 6;     // of the best trials take part, however far apart they seem: the first may have been lucky
};

// Positions of the trials that take part, best first, and none that failed. `relative`: times over the default's.
std::vector<size_t> Finalists(absl::Span<const double> relative, const RaceOptions& options);

// A position in `candidates`, which are not empty. One that fails does not win; the first does where none can be timed.
size_t RaceWinner(measure::Runner& runner, const measure::Candidate& usual,
                  absl::Span<const measure::Candidate> candidates, const RaceOptions& options);

}  // namespace smelt::tuner
