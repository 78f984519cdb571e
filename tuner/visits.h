// Times of kernels that can be believed: nothing compiles meanwhile, a reference kernel just before and after each
// tells the machine's spells, what was timed in one is timed again after the others, and each kernel is visited again
// later, in another process and so in other places of the memory.
//
//   VisitKernels(target, {.visits = 2}, jobs, append).ok();
//
// What is compiled is in the cache of the target, where it keeps code; other targets compile in the child that times,
// one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "fusion/kernel.h"
#include "kernels/tiles/tiles.h"
#include "measure/runner.h"
#include "targets/target.h"
#include "tuner/spell_watch.h"

namespace smelt::tuner {

struct KernelJob {
  fusion::Kernel kernel;
  std::vector<std::optional<kernels::nests::Tile>> tiles;  // nullopt: the default
  std::string program, provenance;
  int visited = 0;    // before
  Hash128 hash = {};  // that corpora know it by
};

struct TimedTile {
  measure::Outcome outcome;  // of the steadiest of its timings
  std::string tile;
  double drift = 0;  // SpellWatch::Drift() about it
};

// One entry of `times` a tile of the job.
struct KernelVisit {
  std::vector<TimedTile> times;
  std::string trace;
  std::string placement;  // the child's number, and the kernel's in it
  double drift = 0;       // the middle one of the tiles', by its size
  bool unsteady = false;  // further than gnn::kSteadyDrift
};

struct VisitOptions {
  measure::MeasurePolicy policy;
  int visits = 2;  // to each kernel; a kernel none of which was steady gets one more
  uint64_t seed = 1;
  const std::atomic<bool>* cancel = nullptr;
  SpellWatch* watch = nullptr;  // of the whole run; null: one of these jobs
  double seconds = 0;           // no further timing after so long; 0: no limit
};

// Calls `take` with each visit as soon as all of its tiles have times; its first error ends all. What has some of them
// when the time is over, or the run is cancelled, is dropped.
absl::Status VisitKernels(const targets::Target& target, const VisitOptions& options,
                          const std::vector<KernelJob>& jobs,
                          const std::function<absl::Status(const KernelJob&, const KernelVisit&)>& take);

}  // namespace smelt::tuner
