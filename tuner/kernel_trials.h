// Kernels of candidates timed alone, so that what a search goes by is measured where it matters.
//
//   KernelTrials kernels(tunable, counts, costs, trials, proceed);
//   kernels.Time(config).ok();          // those of the configuration that weigh most
//   costs.Sum(weighted);                // rests on them
//   kernels.tiles()                     // kernels that run faster in another of their ways
//
// A kernel takes some tens of milliseconds to compile and time, a program seconds: a search can know the kernels of
// hundreds of candidates in the time that one whole program takes. What the records hold is not measured again.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "targets/tunable.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"
#include "tuner/session.h"
#include "tuner/trials.h"

namespace smelt::tuner {

class KernelTrials {
 public:
  // Everything must outlive this. `proceed` is called before each measurement with a line for people; false ends with
  // what is known.
  KernelTrials(const targets::Tunable& tunable, const ComputationCounts& counts, KernelCosts& costs, Trials& trials,
               std::function<bool(const std::string& line)> proceed)
      : tunable_(tunable), counts_(counts), costs_(costs), trials_(trials), proceed_(std::move(proceed)) {}

  // Heaviest first, until what rests on predictions is a small part of the configuration's cost. Fails only where the
  // records cannot be kept, or with Cancelled.
  absl::Status Time(const fusion::Config& config);

  // The tiles of those of the kernels timed so far that are clearly faster with them, by hash.
  const targets::Knobs& tiles() const { return tiles_; }
  int64_t timed() const { return timed_; }

  // Those kernels of a fused module that ran alone, each once, the heaviest first.
  absl::StatusOr<std::vector<KernelAlone>> KernelsOf(const hlo::Module& fused) const;

 private:
  // The seconds of one run; infinity where it failed.
  absl::StatusOr<double> Seconds(const fusion::Kernel& kernel, const std::string& way);

  const targets::Tunable& tunable_;
  const ComputationCounts& counts_;
  KernelCosts& costs_;
  Trials& trials_;
  const std::function<bool(const std::string& line)> proceed_;
  absl::flat_hash_set<Hash128> done_;
  absl::flat_hash_map<Hash128, KernelAlone> alone_;  // those that ran
  targets::Knobs tiles_;
  int64_t timed_ = 0;
};

}  // namespace smelt::tuner
