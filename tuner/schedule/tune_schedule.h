// The schedule of one kernel searched by measurements: Algorithm 1 of Learning to Optimize Tensor Programs (NeurIPS
// 2018), and its baselines.
//
//   ScheduleReport report = TuneSchedule(task, target, {.folder = "run"}).value();
//   if (report.improved) report.best->ToString();
//
// Batches of candidates are proposed, measured and learned from until the trials are used up. The best few then race
// (final_race.h), the winner and the default are compared in several processes (measure/comparison.h), and where the
// gain is not beyond doubt the default is the answer. What the folder's records hold counts as measured: a search that
// was killed goes on, and lost one trial.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/comparison.h"
#include "targets/target.h"
#include "tuner/schedule/final_race.h"
#include "tuner/schedule/schedule_trials.h"
#include "tuner/schedule/strategies.h"

namespace smelt::tuner {

struct ScheduleOptions {
  std::string folder;
  SearchOptions search;  // its trials: those of the kernel in the folder, failures and earlier runs included
  size_t batch = 32;     // measured between two lessons of the model
  double seconds = std::numeric_limits<double>::infinity();  // of wall-clock time for search, without the comparison
  // The search ends when a trial is so many times as fast as the default.
  double until = std::numeric_limits<double>::infinity();
  std::string transfer;  // a folder of other kernels' records to learn from; empty: none
  bool compare = true;   // false: the answer is the best of the trials, as figures want it
  ScheduleTrialOptions trial;
  RaceOptions race;
  measure::ComparisonOptions comparison{.children = 8, .rounds = 20, .seconds = 1, .least = true};
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(const std::string&)> progress;  // hears now and then how far it is
};

// One trial, as a curve of the search shows it.
struct ScheduleTrialPoint {
  std::string config;
  double relative = 0;  // its time over the default's, timed in turn; infinity: it failed
  std::string failure;  // its name; empty: none
  bool known = false;
};

struct ScheduleReport {
  std::string strategy, space_size;
  std::vector<ScheduleTrialPoint> trials;
  int64_t measured = 0, known = 0, failed = 0;
  std::optional<Config> best;                    // of the trials; none: all of them failed
  double best_relative = 0;                      // its time over the default's in its own trial
  double default_seconds = 0, best_seconds = 0;  // medians of the comparison, else of the best's trial
  std::optional<measure::Comparison> compared;
  bool improved = false;   // the best is the answer; otherwise the default is
  bool verified = false;   // the answer computes what the evaluator does
  std::string unchecked;   // why the evaluator could not say
  std::string difference;  // where the best does not, at the end
  double search_seconds = 0, model_seconds = 0, hardware_seconds = 0;
  int64_t transferred = 0;  // measurements of other kernels that were learned from
  bool interrupted = false;
};

// Errors: those of ScheduleTrials and MakeSearch. An interruption ends with what is known.
absl::StatusOr<ScheduleReport> TuneSchedule(const ScheduleTask& task, const targets::Target& target,
                                            const ScheduleOptions& options);

}  // namespace smelt::tuner
