// What --target=xla adds to a tuning session: whole programs to start from, kernels timed alone, and the choices beside
// fusion.
//
//   SessionSteps steps(state);
//   steps.MeasureStarts().ok();       // XLA's choice without its library, its own fusions, ours
//   ...                               // the search (configuration_search.h) asks for times of kernels
//   steps.TuneChoices().ok();         // loops called, nothing cut; then kernels one by one
//
// Every step fails only where the records cannot be kept, or with Cancelled.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fusion/config.h"
#include "targets/xla/choices.h"
#include "tuner/kernel_trials.h"
#include "tuner/search/overhead.h"
#include "tuner/session_state.h"

namespace smelt::tuner {

// A program that was timed, whose loops run step by step and whose fusions are cut.
struct PlainTrial {
  double relative;  // its time over the default's
  Trial trial;
};

class SessionSteps {
 public:
  explicit SessionSteps(SessionState& state);
  SessionSteps(const SessionSteps&) = delete;  // the state is told to call this

  absl::Status MeasureStarts();

  // Kernels of a configuration alone, while less than `share` of the search's time is over.
  absl::Status TimeKernels(const fusion::Config& config, double share);

  // From the best program that is ours: loops called, or nothing cut; then each kernel in each of its ways.
  absl::Status TuneChoices();

  // Ways to run the kernels of the next program: what whole programs showed stays, others come from kernels alone.
  const xla::Tiles& NextTiles();

  const std::optional<fusion::Config>& own() const { return own_; }      // XLA's own fusions, as a configuration
  const std::optional<fusion::Config>& start() const { return start_; }  // the best of MeasureStarts that is ours
  const std::vector<PlainTrial>& FastestPlain();                         // fastest first
  bool HasChoices() const { return !choices_.all().empty(); }
  // The name that a key of a configuration's tiles has for people.
  std::string Name(const std::string& key) const { return choices_.Name(key); }

 private:
  void FindOwnFusions();
  // What this program took beyond its kernels alone corrects the costs of all.
  absl::Status LearnOverhead(const Trial& trial, const measure::Outcome& outcome);
  absl::Status TryWholePrograms();
  absl::Status TryOneByOne();

  SessionState& state_;
  const xla::Choices choices_;
  KernelTrials kernels_;
  double kernel_share_ = 1;  // of the budget, that single kernels may use until the next step
  std::optional<fusion::Config> own_, start_;
  xla::Tiles chosen_;  // for programs to come
  OverheadFit overhead_;
  std::vector<PlainTrial> plain_;
};

}  // namespace smelt::tuner
