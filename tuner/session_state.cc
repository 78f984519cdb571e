#include "tuner/session_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace smelt::tuner {
namespace {

TrialOptions ToTrialOptions(const TuneOptions& options, const targets::Target& target) {
  TrialOptions trial{.policy = options.policy, .cancel = options.cancel};
  trial.policy.build_timeout = target.BuildSeconds().value_or(trial.policy.build_timeout);
  return trial;
}

std::string ProgramKey(std::vector<WeightedKernel> kernels) {
  std::sort(kernels.begin(), kernels.end(), [](const WeightedKernel& a, const WeightedKernel& b) {
    return std::pair(a.hash, a.executions) < std::pair(b.hash, b.executions);
  });
  Hasher hasher;
  for (const WeightedKernel& kernel : kernels) hasher.Add(kernel.hash).Add(static_cast<int64_t>(kernel.executions));
  return hasher.Finish().ToHex();
}

}  // namespace

SessionState::SessionState(const targets::Tunable& tunable, const TuneOptions& options, gnn::Predictor& predictor,
                           measure::Budget& budget)
    : tunable(tunable),
      space(tunable.space()),
      options(options),
      predictor(predictor),
      budget(budget),
      counts(hlo::ExecutionCounts(tunable.program().module())),
      costs(predictor),
      trials(tunable, ToTrialOptions(options, tunable.target())) {}

absl::StatusOr<TrialResult> SessionState::Measure(const Trial& trial) {
  const double before = trials.best_relative();
  SMELT_ASSIGN_OR_RETURN(TrialResult result, trials.Measure(trial));
  if (!result.outcome.ok()) return result;
  // The default, which is known when the search begins, costs it nothing and is nothing that it found.
  const double relative = result.outcome.relative(), spent = trials.hardware_seconds() - hardware_begin_;
  if (search_end_ > 0 && spent > 0 && (report.found.empty() || relative < report.found.back().relative))
    report.found.push_back({spent, relative});
  if (trial.compiler.empty() && tunable.IsPlain(trial.tiles)) plain_.push_back({result.outcome.relative(), trial});
  if (measured) SMELT_RETURN_IF_ERROR(measured(trial, result.outcome));
  if (trials.best_relative() < before) {
    best_kernels = result.kernels;
    if (search_end_ > 0) MoveEnd();
  }
  if (trial.tiles.empty()) {
    for (const measure::KernelRecord& kernel : result.kernels) {
      if (const auto hash = Hash128::FromHex(kernel.hash)) costs.AddMeasured(*hash, kernel.seconds);
    }
  }
  return result;
}

absl::StatusOr<std::unique_ptr<FusionState>> SessionState::Fused(const fusion::Config& config) {
  return FusionState::Create(space, config, counts, costs);
}

absl::StatusOr<double> SessionState::Predict(const fusion::Config& config) const {
  KernelCosts model_alone(predictor);
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<FusionState> made,
                         FusionState::Create(space, config, counts, model_alone));
  return made->cost();
}

bool SessionState::IsNewProgram(std::vector<WeightedKernel> kernels) {
  return programs_.insert(ProgramKey(std::move(kernels))).second;
}

const std::vector<PlainTrial>& SessionState::FastestPlain() {
  std::stable_sort(plain_.begin(), plain_.end(),
                   [](const PlainTrial& one, const PlainTrial& other) { return one.relative < other.relative; });
  return plain_;
}

void SessionState::BeginSearch(std::function<double()> until) {
  budget.Enter(measure::Phase::kSearching);
  until_ = std::move(until);
  search_begin_ = budget.spent();
  hardware_begin_ = trials.hardware_seconds();
  MoveEnd();
}

void SessionState::MoveEnd() {
  search_end_ = until_();
  trials.runner().SetDeadline(budget.At(search_end_));
}

double SessionState::Progressed() const {
  const double whole = search_end_ - search_begin_;
  const double of_time = whole > 0 ? (budget.spent() - search_begin_) / whole : 1;
  return std::max(of_time, (trials.hardware_seconds() - hardware_begin_) / options.hardware_seconds);
}

void SessionState::Progress(const std::string& line) {
  if (options.progress != nullptr) options.progress->Update(line);
}

void SessionState::Say(const std::string& line) {
  if (options.progress != nullptr) options.progress->Say(line);
}

std::string SessionState::BestSoFar() const {
  return absl::StrFormat("best trial %.1f %% faster than the default, %.0f of %.0f s",
                         100 * (1 / std::min(trials.best_relative(), 1.0) - 1), budget.spent(), budget.seconds());
}

}  // namespace smelt::tuner
