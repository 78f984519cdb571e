// Kernels of candidates timed alone in XLA's child, so that what a search goes by is measured where it matters.
//
//   KernelTrials kernels(space, counts, costs, trials, options);
//   kernels.Time(config).ok();          // those of the configuration that weigh most
//   costs.Sum(weighted);                // rests on them
//   kernels.tiles()                     // kernels that run faster in XLA's library, or as functions of their own
//
// A kernel takes some tens of milliseconds to compile and time, a program seconds: a search can know the kernels of
// hundreds of candidates in the time that one whole program takes. What the records hold is not measured again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "targets/xla/tiles.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"
#include "tuner/trials.h"

namespace smelt::tuner {

struct KernelTrialOptions {
  int threads = 1;
  // Kernels that can run otherwise, by hash: the tiles to time beside none.
  std::map<std::string, std::vector<std::string>> tiles;
  // Called before each measurement with a line for people; false ends with what is known.
  std::function<bool(const std::string& line)> proceed;
};

class KernelTrials {
 public:
  // Everything must outlive this.
  KernelTrials(const fusion::Space& space, const ComputationCounts& counts, KernelCosts& costs, Trials& trials,
               KernelTrialOptions options)
      : space_(space), counts_(counts), costs_(costs), trials_(trials), options_(std::move(options)) {}

  // Heaviest first, until what rests on predictions is a small part of the configuration's cost. Fails only where the
  // records cannot be kept, or with Cancelled.
  absl::Status Time(const fusion::Config& config);

  // The tiles of those of the kernels timed so far that are clearly faster with them, by hash.
  const xla::Tiles& tiles() const { return tiles_; }
  int64_t timed() const { return timed_; }

 private:
  // The seconds of one run; infinity where it failed.
  absl::StatusOr<double> Seconds(const fusion::Kernel& kernel, const std::string& tile);

  const fusion::Space& space_;
  const ComputationCounts& counts_;
  KernelCosts& costs_;
  Trials& trials_;
  const KernelTrialOptions options_;
  absl::flat_hash_set<Hash128> done_;
  xla::Tiles tiles_;
  int64_t timed_ = 0;
};

}  // namespace smelt::tuner
