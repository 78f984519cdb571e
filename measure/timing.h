// The one timing loop: samples of several things in turn, as many as limits of number and time allow.
//
//   const auto sample = [](size_t i) -> absl::StatusOr<double> { return i == 0 ? 0.5 : 0.25; };
//   auto samples = TimeInTurn(2, {.rounds = 5, .seconds = 10}, sample).value();  // {0.5, 0.5, ..}, {0.25, 0.25, ..}
//
// Samples of one round lie close to each other in time, so that what disturbs the machine disturbs all alike. Every
// other round goes backwards, so that none always runs on the caches that another leaves.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace smelt::measure {

struct SampleLimits {
  int rounds = 5;            // at least so many, as far as `seconds` allows
  double seconds = 10;       // no further round after so long; the first three (or `rounds`, if fewer) come in any case
  double least_seconds = 0;  // further rounds until so long: what disturbs a machine lasts for milliseconds
  int most_rounds = 100;     // no further ones for that reason
  // No further round, not even the third, once 25 ms of rounds have shown in each of them that all others take at
  // least so many times as long as the first; 0: as many rounds as usual.
  double hopeless = 0;
};

// One list for each of `count` things, with one sample a round. `sample` takes a sample of the thing of that number, in
// seconds; its first error ends the loop. `elapsed` tells the seconds since the loop began: a simulator's own clock.
absl::StatusOr<std::vector<std::vector<double>>> TimeInTurn(size_t count, const SampleLimits& limits,
                                                            absl::FunctionRef<absl::StatusOr<double>(size_t)> sample,
                                                            absl::FunctionRef<double()> elapsed);
// The same by the machine's clock.
absl::StatusOr<std::vector<std::vector<double>>> TimeInTurn(size_t count, const SampleLimits& limits,
                                                            absl::FunctionRef<absl::StatusOr<double>(size_t)> sample);

}  // namespace smelt::measure
