// Schedules of the kernels that take a program's time, searched by measurements: as tiles are (tile_search.h), but of
// the whole space of each kernel (kernels/config/), more of those kernels whose next trials should save more.
//
//   std::vector<TileChoice> ways = SearchSchedules(trials, space, trial, times, options).value();
//
// A schedule is chosen where it beats the way that the trial runs the kernel in by more than kScreeningGain, twice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "machine/machine.h"
#include "tuner/tile_search.h"
#include "tuner/trials.h"

namespace smelt::tuner {

struct ScheduleSearchOptions {
  machine::Machine machine;
  size_t batch = 8;  // trials of a kernel before another one may be next
  int threads = 1;   // of choosing
  uint64_t seed = 1;
  // A way that was kept for a kernel by its hash, tried first; empty: none. May be null.
  std::function<std::string(const Hash128& kernel)> kept = nullptr;
  // Called before each measurement with a line for people; false ends the search with what it has.
  std::function<bool(const std::string& line)> proceed;
};

// `times`: of the trial's kernels inside the program. Fails only where records cannot be kept, or with Cancelled; where
// the runner's time is over, what was chosen until then is the result.
absl::StatusOr<std::vector<TileChoice>> SearchSchedules(Trials& trials, const fusion::Space& space, const Trial& trial,
                                                        const std::vector<measure::KernelRecord>& times,
                                                        const ScheduleSearchOptions& options);

}  // namespace smelt::tuner
