// Corpora from programs: kernels of many fusion configurations, or of many tiles, timed in a child process
// (Kaufman et al., MLSys 2021, Section 5: random configurations, kernels deduplicated, minimum of at least three runs).
//
//   ProfileReport report = Profile({"models/dqn.hlo"}, target, {.output = "corpus", .configurations = 50}).value();
//
// A few hundred kernels at a time are compiled first and then timed, so that nothing compiles beside what is timed;
// each is visited twice, seconds apart and in different processes (visits.h). Every visit is appended to the corpus as
// a record of its own; an existing corpus is continued: kernels that it has as many visits to are not timed again.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/runner.h"
#include "targets/target.h"
#include "tuner/progress.h"

namespace smelt::tuner {

enum class ProfileTask : uint8_t { kFusion, kTile };

struct ProfileOptions {
  ProfileTask task = ProfileTask::kFusion;
  std::string output;                  // corpus folder
  int64_t configurations = 50;         // fusion: random configurations of each program, beside the heuristics
  int64_t kernels_per_program = 1000;  // no more kernels than that of one program: a sample of all (kernel_sample.h)
  double variants = 0.25;            // fusion: share of these that are others of them in other sizes (shape_variants.h)
  int visits = 2;                    // to each kernel, each in a process of its own
  int64_t tiles = 32;                // tile: tiles of each kernel
  double seconds_per_program = 600;  // no further kernel once a program took this long
  double kernel_limit_seconds = 0.05;              // kernels that the analytical model puts beyond it are skipped
  int64_t input_limit_bytes = int64_t{512} << 20;  // kernels with more bytes of operands are skipped
  uint64_t seed = 1;
  int shard = 0, shards = 1;  // only every shards-th program
  measure::MeasurePolicy policy{.repeats = 5, .seconds = 0.25, .build_timeout = 20, .run_timeout = 20};
  const std::atomic<bool>* cancel = nullptr;
  Progress* progress = nullptr;
};

struct ProfileReport {
  int64_t programs = 0;
  int64_t kernels = 0;   // timed now
  int64_t known = 0;     // in the corpus already
  int64_t visits = 0;    // made now
  int64_t unsteady = 0;  // of these, in a spell
  int64_t failed = 0;    // recorded with the reason
  // Not recorded, since the failure was not the kernel's: a killed child, memory, a disk. And why the last one was.
  int64_t left_out = 0;
  std::string why_left_out;
  int64_t skipped = 0;  // too large
  double seconds = 0;
  double floor_seconds = 0;          // what an empty kernel takes, where that is known; times near it say little
  std::vector<std::string> refused;  // programs that could not be read, with the reason
  bool interrupted = false;
};

// InvalidArgument: the tile task for a target whose kernels have none.
absl::StatusOr<ProfileReport> Profile(const std::vector<std::string>& modules, const targets::Target& target,
                                      const ProfileOptions& options);

struct AgainOptions {
  double share = 1;      // of the kernels, drawn by the seed
  bool changed = false;  // only those whose default schedule is another now than when they were timed
};
// Times the kernels of a corpus again into another: whether labels can be believed (gnn/labels/statistics.h), and what
// they are where the compiler's defaults have changed. InvalidArgument: a share beyond (0, 1], a corpus of another
// target, changed ones of a target whose schedules are not known.
absl::StatusOr<ProfileReport> ProfileAgain(const std::string& corpus, const AgainOptions& again,
                                           const targets::Target& target, const ProfileOptions& options);

}  // namespace smelt::tuner
