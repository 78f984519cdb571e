#include "targets/xla/predictor.h"

#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "fusion/kernel_cost.h"
#include "gnn/shipped_model.h"
#include "targets/xla/loop_rules.h"

namespace smelt::xla {
namespace {

double BytesOf(const hlo::Computation& kernel) {
  if (kernel.root()->opcode() == hlo::Opcode::kBitcast && fusion::IsFree(kernel)) return 0;
  double bytes = static_cast<double>(kernel.root()->shape().ByteSize());
  for (const hlo::Instruction* parameter : kernel.Parameters())
    bytes += static_cast<double>(parameter->shape().ByteSize());
  return bytes;
}

class XlaPredictor : public gnn::Predictor {
 public:
  // `model` may be null.
  explicit XlaPredictor(std::unique_ptr<gnn::Predictor> model) : model_(std::move(model)) {}

  std::string Describe() const override {
    return model_ == nullptr ? "rough cost of XLA's loop fusions" : model_->Describe();
  }
  std::string Warning() const override { return model_ == nullptr ? "" : model_->Warning(); }
  bool IsLearned() const override { return model_ != nullptr; }
  bool HasFusionTask() const override { return true; }
  bool HasTileTask() const override { return false; }

  absl::StatusOr<std::vector<double>> PredictSeconds(absl::Span<const fusion::Kernel* const> kernels) override {
    std::vector<double> seconds(kernels.size());
    std::vector<const fusion::Kernel*> asked;
    std::vector<size_t> places;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const fusion::Kernel& kernel = *kernels[i];
      if (const std::optional<double> known = Known(kernel.hash)) {
        seconds[i] = *known;
      } else if (model_ != nullptr && !fusion::IsFree(kernel.computation())) {
        asked.push_back(&kernel);
        places.push_back(i);
      } else {
        SMELT_ASSIGN_OR_RETURN(seconds[i], fusion::KernelSeconds(*kernel.module, LoopRules()));
        Remember(kernel, seconds[i]);
      }
    }
    if (asked.empty()) return seconds;
    SMELT_ASSIGN_OR_RETURN(const std::vector<double> predicted, model_->PredictSeconds(asked));
    for (size_t i = 0; i < asked.size(); ++i) {
      seconds[places[i]] = predicted[i];
      Remember(*asked[i], predicted[i]);
    }
    return seconds;
  }

  std::optional<double> Known(const Hash128& hash) const override {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(hash);
    return it == known_.end() ? std::nullopt : std::optional<double>(it->second.seconds);
  }
  double BytesMoved(const Hash128& hash) const override {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(hash);
    return it == known_.end() ? 0 : it->second.bytes;
  }

  absl::StatusOr<std::vector<double>> ScoreTiles(const fusion::Kernel&,
                                                 absl::Span<const kernels::nests::Tile>) override {
    return absl::UnimplementedError("XLA's loop fusions have no tiles");
  }

 private:
  struct Prediction {
    double seconds, bytes;
  };
  void Remember(const fusion::Kernel& kernel, double seconds) {
    const double bytes = BytesOf(kernel.computation());
    const std::lock_guard lock(mutex_);
    known_[kernel.hash] = {seconds, bytes};
  }

  std::unique_ptr<gnn::Predictor> model_;
  mutable std::mutex mutex_;
  absl::flat_hash_map<Hash128, Prediction> known_;
};

}  // namespace

std::unique_ptr<gnn::Predictor> RoughPredictor() { return std::make_unique<XlaPredictor>(nullptr); }

absl::StatusOr<std::unique_ptr<gnn::Predictor>> LearnedPredictor(const std::string& model,
                                                                 const machine::Machine& machine) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<gnn::Predictor> learned, gnn::Predictor::Load(model, machine, kKind));
  return std::make_unique<XlaPredictor>(std::move(learned));
}

std::string ShippedXlaModelPath() { return gnn::ShippedModelPath("xla-cpu"); }

}  // namespace smelt::xla
