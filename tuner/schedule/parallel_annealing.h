// Simulated annealing of many chains over a configuration space, scored in batches: the search of Algorithm 1 in
// Learning to Optimize Tensor Programs (NeurIPS 2018), Section 3.3.
//
//   ParallelAnnealing annealing(space, {.seed = 1});
//   std::vector<RankedConfig> best = annealing.Run(energy, /*measured=*/{}).value();   // best first
//
// Chains persist: the next Run goes on from where each stands. Scores of any sign are scores. One seed and the same
// energies give the same result, whatever the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/config/config.h"
#include "tuner/schedule/schedule_task.h"

namespace smelt::tuner {

struct ParallelAnnealingOptions {
  int chains = 128;
  int steps = 500;    // of each chain in one Run
  int batch = 64;     // chains that are scored at once, and that one thread takes
  double hot = 1;     // temperature at the first step, in standard deviations of the chains' first scores
  double cold = 0;    // and at the last one
  int patience = 50;  // after so many steps in which none of a batch of chains found its best, they go on at `cold`,
                      // and after so many more they end
  size_t keep = 1000;
  int threads = 1;
  uint64_t seed = 1;
};

struct RankedConfig {
  Config config;
  double score = 0;
};

// Points by the values of their knobs.
using ConfigSet = absl::flat_hash_set<std::vector<int>>;

class ParallelAnnealing {
 public:
  // One score for each, the higher the better; minus infinity where a chain must not go. Called by several threads.
  using Energy = std::function<absl::StatusOr<std::vector<double>>(absl::Span<const Config>)>;

  // `space` must outlive it.
  ParallelAnnealing(const kernels::config::ConfigSpace& space, const ParallelAnnealingOptions& options);

  // The best distinct points that chains met, without those of `measured`, best first. An error is that of `energy`.
  absl::StatusOr<std::vector<RankedConfig>> Run(const Energy& energy, const ConfigSet& measured);

  // Chains begin the next Run at these points, the first of them first; others stay where they are.
  void Restart(absl::Span<const Config> points);

  int64_t proposals() const { return proposals_; }  // of all Runs

 private:
  struct Batch;
  absl::Status RunBatch(Batch& batch, const Energy& energy, double unit) const;

  const kernels::config::ConfigSpace& space_;
  const ParallelAnnealingOptions options_;
  std::vector<Config> chains_;
  std::vector<std::mt19937_64> random_;  // of each chain
  int64_t proposals_ = 0;
};

}  // namespace smelt::tuner
