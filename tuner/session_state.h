// What the steps of one tuning session share: the program and its trials, the costs that these correct, the report.
//
//   SessionState state(tunable, options, predictor, budget);
//   TrialResult result = state.Measure({config}).value();
//   state.costs                 // know of it
//
// The steps: configuration_search.h, hardware_search.h, tile_search.h, session_steps.h. Not
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
#include "hlo/passes/execution_counts.h"
#include "targets/tunable.h"
#include "tuner/search/fusion_state.h"
#include "tuner/search/kernel_costs.h"
#include "tuner/session.h"
#include "tuner/trials.h"

namespace smelt::tuner {

using SessionClock = measure::Budget::Clock;

// A program that was timed, and consists of kernels that can be timed alone.
struct PlainTrial {
  double relative;  // its time over the default's
  Trial trial;
};

class SessionState {
 public:
  // All must outlive this.
  SessionState(const targets::Tunable& tunable, const TuneOptions& options, gnn::Predictor& predictor,
               measure::Budget& budget);

  // Trials::Measure, and costs and `best_kernels` know of it. Fails where the records cannot be kept, or with
  // Cancelled.
  absl::StatusOr<TrialResult> Measure(const Trial& trial);

  // Its kernels, and its cost as kernels are known now.
  absl::StatusOr<std::unique_ptr<FusionState>> Fused(const fusion::Config& config);
  // Seconds, by the model alone.
  absl::StatusOr<double> Predict(const fusion::Config& config) const;
  // Whether no program of the same kernels was asked for before: configurations in other words can be one program.
  bool IsNewProgram(std::vector<WeightedKernel> kernels);

  const std::vector<PlainTrial>& FastestPlain();  // fastest first

  bool Cancelled() const { return trials.Cancelled(); }
  // From now on the search goes on, until this moment of the budget; nothing of it that runs then is waited for. The
  // moment is asked for again at each new best.
  void BeginSearch(std::function<double()> until);
  // The share of the search's time, and of the hardware seconds, that is over, from 0 on.
  double Progressed() const;
  bool BudgetLeft(double share) const { return !Cancelled() && Progressed() < share; }
  void Progress(const std::string& line);  // for people, now and then
  void Say(const std::string& line);       // for people, in any case
  std::string BestSoFar() const;           // for such a line

  const targets::Tunable& tunable;
  const fusion::Space& space;
  const TuneOptions& options;
  gnn::Predictor& predictor;
  measure::Budget& budget;
  const ComputationCounts counts;
  KernelCosts costs;
  Trials trials;
  std::optional<measure::Outcome> usual_outcome;    // of the default, once it was measured
  std::vector<measure::KernelRecord> best_kernels;  // of trials.best()
  TuneReport report;
  // Told of every trial that ran.
  std::function<absl::Status(const Trial&, const measure::Outcome&)> measured;

 private:
  void MoveEnd();

  std::set<std::string> programs_;  // by their kernels
  std::vector<PlainTrial> plain_;
  std::function<double()> until_;
  double search_begin_ = 0, search_end_ = 0;  // moments of the budget; 0: it has not begun
  double hardware_begin_ = 0;                 // hardware seconds before the search
};

}  // namespace smelt::tuner
