// A fusion configuration under annealing: what a move changes, and what the program costs after it under a model.
//
//   FusionState state = FusionState::Create(space, start, predictor).value();
//   Anneal(state, options)
//
// The cost is the sum over the kernels of the program text of their predicted seconds, kept up to date by the kernels
// that a move takes away and adds. Kernels that were never predicted before are predicted in one batch; all others cost
// a look-up by hash.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "fusion/evaluator.h"
#include "gnn/predictor.h"
#include "tuner/search/annealing.h"

namespace smelt::tuner {

class FusionState : public SearchState {
 public:
  // Predicts the kernels of the start.
  static absl::StatusOr<std::unique_ptr<FusionState>> Create(const fusion::Space& space, const fusion::Config& start,
                                                             gnn::Predictor& predictor);

  absl::StatusOr<double> Mutate(Random& random, bool* changed) override;
  void Undo() override;
  double cost() const override { return cost_; }
  // The legal configuration as text: see ConfigText.
  std::string Snapshot() const override;

  const fusion::Config& config() const { return evaluator_.config(); }
  int64_t predicted() const { return predicted_; }  // kernels that the model was asked about

 private:
  FusionState(const fusion::Space& space, const fusion::Config& start, gnn::Predictor& predictor)
      : space_(space), predictor_(predictor), evaluator_(space, start) {}
  // A flip of one decision mostly; sometimes all edges of a producer, or a pattern over all layers at once.
  fusion::Move Propose(Random& random) const;
  absl::StatusOr<double> SecondsOf(absl::Span<const fusion::KernelRef> kernels);

  const fusion::Space& space_;
  gnn::Predictor& predictor_;
  fusion::Evaluator evaluator_;
  absl::flat_hash_map<hlo::Hash128, double> seconds_;
  double cost_ = 0, cost_before_ = 0;
  int64_t predicted_ = 0;
};

// A configuration as hexadecimal digits, four decisions each, and back.
std::string ConfigText(const fusion::Config& config);
absl::StatusOr<fusion::Config> ConfigFromText(const std::string& text, int64_t size);

}  // namespace smelt::tuner
