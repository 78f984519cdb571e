// A fusion configuration under annealing: what a move changes, and what the program costs after it.
//
//   KernelCosts costs(predictor);
//   auto state = FusionState::Create(space, start, ExecutionCounts(space.module()), costs).value();
//   SMELT_RETURN_IF_ERROR(Anneal(*state, {.moves = 10000}).status());
//
// The cost is the sum over the kernels of their seconds times how often they run, kept up to date by the kernels that a
// move takes away and adds. Kernels that were never predicted before are predicted in one batch; all others cost a
// look-up by hash.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "fusion/incremental_fusion.h"
#include "tuner/search/annealing.h"
#include "tuner/search/kernel_costs.h"

namespace smelt::tuner {

using ComputationCounts = absl::flat_hash_map<const hlo::Computation*, double>;

class FusionState : public SearchState {
 public:
  // Predicts the kernels of the start. Everything passed must outlive the state; `costs` must not change while it
  // lives.
  static absl::StatusOr<std::unique_ptr<FusionState>> Create(const fusion::Space& space, const fusion::Config& start,
                                                             const ComputationCounts& counts, KernelCosts& costs);

  absl::StatusOr<double> Mutate(Random& random, bool* changed) override;
  void Undo() override;
  double cost() const override { return cost_; }
  // Every decision flipped; every producer of several consumers fused into all of them, or taken out; every pattern
  // that stands in several places, everywhere.
  int64_t steps() override;
  absl::StatusOr<double> Step(int64_t step, bool* changed) override;
  // The legal configuration as text: see ConfigText.
  std::string Snapshot() const override;

  const fusion::Config& config() const { return evaluator_.config(); }
  std::vector<WeightedKernel> Kernels() const;
  int64_t predicted() const { return predicted_; }  // kernels that the model was asked about

 private:
  FusionState(const fusion::Space& space, const fusion::Config& start, const ComputationCounts& counts,
              KernelCosts& costs)
      : space_(space), counts_(counts), costs_(costs), evaluator_(space, start) {}
  absl::StatusOr<double> Make(const fusion::Move& move, bool* changed);
  absl::StatusOr<double> SecondsOf(absl::Span<const fusion::KernelRef> kernels);
  // Fills seconds_.
  absl::Status Predict(const std::vector<const fusion::KernelRef*>& unknown);
  double ExecutionsOf(const fusion::KernelRef& kernel) const;

  const fusion::Space& space_;
  const ComputationCounts& counts_;
  KernelCosts& costs_;
  fusion::IncrementalFusion evaluator_;
  absl::flat_hash_map<Hash128, double> seconds_;  // of one execution; spares the shared table's lock
  std::vector<fusion::Move> joint_moves_;         // of several decisions; made when a descent asks for them
  bool joint_moves_made_ = false;
  double cost_ = 0, cost_before_ = 0;
  int64_t predicted_ = 0;
};

// A move of any kind: a flip of one decision mostly; sometimes all edges of a producer, or a pattern over all layers at
// once. The space must not be empty.
fusion::Move ProposeMove(const fusion::Space& space, Random& random);

// A configuration as hexadecimal digits, four decisions each, and back.
std::string ConfigText(const fusion::Config& config);
absl::StatusOr<fusion::Config> ConfigFromText(const std::string& text, int64_t size);

}  // namespace smelt::tuner
