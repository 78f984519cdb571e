// Steps of a tuning session beside the search of configurations: whole programs to start from, kernels timed alone, and
// the knobs beside fusion.
//
//   SessionSteps steps(state);
//   steps.MeasureStarts().ok();       // what the compiler makes by itself, its own fusions, ours
//   ...                               // the search (configuration_search.h) asks for times of kernels
//   steps.TuneChoices().ok();         // whole programs in other ways; then kernels one by one
//
// Every step fails only where the records cannot be kept, or with Cancelled.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fusion/config.h"
#include "targets/tunable.h"
#include "tuner/kernel_trials.h"
#include "tuner/search/overhead.h"
#include "tuner/session_state.h"

namespace smelt::tuner {

// Tries each knob in each of its ways, and in none, in the best program that is ours; what is faster stays. While there
// is time.
absl::Status TryOneByOne(SessionState& state, const targets::KnobChoices& knobs);

class SessionSteps {
 public:
  explicit SessionSteps(SessionState& state);
  SessionSteps(const SessionSteps&) = delete;  // the state is told to call this

  absl::Status MeasureStarts();

  // Kernels of a configuration alone, while less than `share` of the search's time is over.
  absl::Status TimeKernels(const fusion::Config& config, double share);

  // Those of a program that were timed alone.
  absl::StatusOr<std::vector<KernelAlone>> KernelsOf(const hlo::Module& fused) const {
    return kernels_.KernelsOf(fused);
  }

  // From the best programs that are ours: all of the program in another way; then each kernel in each of its ways.
  absl::Status TuneChoices();

  // Ways to run the kernels of the next program: what whole programs showed stays, others come from kernels alone.
  const targets::Knobs& NextTiles();

  const std::optional<fusion::Config>& start() const { return start_; }  // the best of MeasureStarts that is ours

 private:
  // What this program took beyond its kernels alone corrects the costs of all.
  absl::Status LearnOverhead(const Trial& trial, const measure::Outcome& outcome);
  absl::Status TryWholePrograms();

  SessionState& state_;
  KernelTrials kernels_;
  double kernel_share_ = 1;  // of the budget, that single kernels may use until the next step
  std::optional<fusion::Config> start_;
  targets::Knobs chosen_;  // for programs to come
  OverheadFit overhead_;
};

}  // namespace smelt::tuner
