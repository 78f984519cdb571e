// What the steps of one tuning session share: the program and its trials, the costs that these correct, the report.
//
//   SessionState state(program, space, options, predictor, default_trial);
//   TrialResult result = state.Measure({config}).value();
//   state.costs                 // know of it
//
// The steps: configuration_search.h, hardware_search.h, tile_search.h, and those of xla/session_steps.h. Not
// thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fusion/config.h"
#include "fusion/space.h"
#include "gnn/predictor.h"
#include "tuner/program.h"
#include "tuner/search/execution_counts.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"
#include "tuner/session.h"
#include "tuner/trials.h"

namespace smelt::tuner {

using SessionClock = std::chrono::steady_clock;
double SecondsSince(SessionClock::time_point start);

class SessionState {
 public:
  // All must outlive this.
  SessionState(const Program& program, const fusion::Space& space, const TuneOptions& options,
               gnn::Predictor& predictor, Trial usual);

  // Trials::Measure, and costs and `best_kernels` know of it. Fails where the records cannot be kept, or with
  // Cancelled.
  absl::StatusOr<TrialResult> Measure(const Trial& trial);

  // A configuration by its name, of the target that is tuned for.
  absl::StatusOr<fusion::Config> Named(const std::string& name) const;
  // Its kernels, and its cost as kernels are known now.
  absl::StatusOr<std::unique_ptr<FusionState>> Fused(const fusion::Config& config);
  // Seconds, by the model alone.
  absl::StatusOr<double> Predict(const fusion::Config& config) const;
  // Whether no program of the same kernels was asked for before: configurations in other words can be one program.
  bool IsNewProgram(std::vector<WeightedKernel> kernels);

  bool Cancelled() const { return trials.Cancelled(); }
  bool BudgetLeft(double share) const;     // of that share of the hardware seconds
  void Progress(const std::string& line);  // for people, now and then
  std::string BestSoFar() const;           // for such a line

  const Program& program;
  const fusion::Space& space;
  const TuneOptions& options;
  gnn::Predictor& predictor;
  const ComputationCounts counts;
  KernelCosts costs;
  Trials trials;
  std::optional<Outcome> usual_outcome;    // of the default, once it was measured
  std::vector<KernelRecord> best_kernels;  // of trials.best()
  TuneReport report;
  // Told of every trial that ran.
  std::function<absl::Status(const Trial&, const Outcome&)> measured;

 private:
  std::set<std::string> programs_;  // by their kernels
};

}  // namespace smelt::tuner
