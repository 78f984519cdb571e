#include "gnn/predictor.h"

#include <cmath>
#include <mutex>
#include <shared_mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gnn/dataset/kernel_kind.h"
#include "gnn/estimate.h"
#include "gnn/features/features.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"
#include "kernels/cost/analytical.h"
#include "machine/target_id.h"

namespace smelt::gnn {
namespace {

using fusion::Kernel;
using kernels::nests::Tile;
using machine::Machine;

double Seconds(double log_time) { return std::exp(log_time) * 1e-7; }

// Predictions by kernel hash, over all searches of a process.
class Memory {
 public:
  std::optional<double> Find(const Hash128& hash) const {
    const std::shared_lock lock(mutex_);
    auto it = seconds_.find(hash);
    if (it == seconds_.end()) return std::nullopt;
    return it->second;
  }
  void Insert(const Hash128& hash, double seconds) {
    const std::lock_guard lock(mutex_);
    seconds_.emplace(hash, seconds);
  }

 private:
  mutable std::shared_mutex mutex_;  // of the standard library: the thread sanitizer knows it
  absl::flat_hash_map<Hash128, double> seconds_;
};

// Remembers, and asks `Compute` for what is not known.
class RememberingPredictor : public Predictor {
 public:
  absl::StatusOr<std::vector<double>> PredictSeconds(absl::Span<const Kernel* const> kernels) override {
    std::vector<double> seconds(kernels.size());
    std::vector<const Kernel*> unknown;
    std::vector<size_t> places;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (const std::optional<double> known = memory_.Find(kernels[i]->hash)) {
        seconds[i] = *known;
      } else if (fusion::IsFree(kernels[i]->computation())) {
        memory_.Insert(kernels[i]->hash, 0);
      } else {
        unknown.push_back(kernels[i]);
        places.push_back(i);
      }
    }
    if (unknown.empty()) return seconds;
    SMELT_ASSIGN_OR_RETURN(const std::vector<double> computed, Compute(unknown));
    for (size_t i = 0; i < unknown.size(); ++i) {
      memory_.Insert(unknown[i]->hash, computed[i]);
      seconds[places[i]] = computed[i];
    }
    return seconds;
  }
  std::optional<double> Known(const Hash128& hash) const override { return memory_.Find(hash); }

 protected:
  virtual absl::StatusOr<std::vector<double>> Compute(absl::Span<const Kernel* const> kernels) = 0;

 private:
  Memory memory_;
};

class AnalyticalPredictor : public RememberingPredictor {
 public:
  explicit AnalyticalPredictor(Machine target) : target_(std::move(target)) {}
  AnalyticalPredictor(std::string name, KernelEstimate estimate)
      : name_(std::move(name)), estimate_(std::move(estimate)) {}
  std::string Describe() const override {
    return estimate_ ? name_ : absl::StrCat("analytical model of ", target_.name, ", threads=", target_.threads);
  }
  bool IsLearned() const override { return false; }
  bool HasFusionTask() const override { return true; }
  bool HasTileTask() const override { return true; }

  absl::StatusOr<std::vector<double>> ScoreTiles(const Kernel& kernel, absl::Span<const Tile> tiles) override {
    std::vector<double> scores;
    for (const Tile& tile : tiles) {
      SMELT_ASSIGN_OR_RETURN(const kernels::cost::CostEstimate estimate,
                             kernels::cost::EstimateTile(kernel.computation(), tile, target_));
      scores.push_back(estimate.seconds());
    }
    return scores;
  }

 protected:
  absl::StatusOr<std::vector<double>> Compute(absl::Span<const Kernel* const> kernels) override {
    std::vector<double> seconds;
    for (const Kernel* kernel : kernels) {
      const hlo::Computation& computation = kernel->computation();
      seconds.push_back(
          (estimate_ ? estimate_(computation) : kernels::cost::EstimateKernel(computation, target_)).seconds());
    }
    return seconds;
  }

 private:
  Machine target_;
  std::string name_;
  KernelEstimate estimate_;  // unset: the analytical model
};

class LearnedPredictor : public RememberingPredictor {
 public:
  LearnedPredictor(ModelFile model, Machine target, std::unique_ptr<Engine> fusion, std::unique_ptr<Engine> tile,
                   std::string warning, KernelEstimate estimate)
      : model_(std::move(model)),
        target_(std::move(target)),
        fusion_(std::move(fusion)),
        tile_(std::move(tile)),
        warning_(std::move(warning)),
        estimate_(std::move(estimate)) {}

  std::string Describe() const override { return model_.summary; }
  std::string Warning() const override { return warning_; }
  bool HasFusionTask() const override { return fusion_ != nullptr; }
  bool HasTileTask() const override { return tile_ != nullptr; }

  absl::StatusOr<std::vector<double>> ScoreTiles(const Kernel& kernel, absl::Span<const Tile> tiles) override {
    if (tile_ == nullptr)
      return absl::FailedPreconditionError(
          "the model was not trained for the tile task; train it with --task=tile or --task=both");
    const KernelGraph graph = ExtractFeatures(kernel.computation(), target_, estimate_);
    return tile_->ScoreTiles(graph, TileFeatures(kernel.computation(), tiles, target_));
  }

 protected:
  absl::StatusOr<std::vector<double>> Compute(absl::Span<const Kernel* const> kernels) override {
    if (fusion_ == nullptr) {
      return absl::FailedPreconditionError(
          "the model was not trained for the fusion task; train it with --task=fusion or --task=both");
    }
    std::vector<KernelGraph> graphs;
    std::vector<const KernelGraph*> pointers;
    graphs.reserve(kernels.size());
    for (const Kernel* kernel : kernels) graphs.push_back(ExtractFeatures(kernel->computation(), target_, estimate_));
    for (const KernelGraph& graph : graphs) pointers.push_back(&graph);
    std::vector<double> seconds = fusion_->PredictLogTimes(pointers);
    for (double& s : seconds) s = Seconds(s);
    return seconds;
  }

 private:
  ModelFile model_;
  Machine target_;
  std::unique_ptr<Engine> fusion_, tile_;
  std::string warning_;
  KernelEstimate estimate_;
};

}  // namespace

absl::StatusOr<double> Predictor::PredictSeconds(const Kernel& kernel) {
  const Kernel* pointer = &kernel;
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> seconds, PredictSeconds(absl::MakeConstSpan(&pointer, 1)));
  return seconds[0];
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Load(const std::string& path, const Machine& target,
                                                           std::string_view kind) {
  return LoadWithEstimate(path, target, kind, {});
}

absl::StatusOr<std::unique_ptr<Predictor>> LoadWithEstimate(const std::string& path, const Machine& target,
                                                            std::string_view kind, KernelEstimate estimate) {
  SMELT_ASSIGN_OR_RETURN(ModelFile model, LoadModel(path));
  const machine::TargetId trained = machine::TargetId::Parse(model.target);
  if (trained.kind != kind) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": predicts kernels of target `", model.target,
                                                      "`, and kernels of `", std::string(kind), ":", target.name,
                                                      "` are asked for. Give a model that was trained on these"));
  }
  std::string warning;
  if (!trained.cpu.empty() && trained.cpu != target.name) {
    warning = absl::StrCat(path, ": was trained on another CPU, ", trained.cpu, ", and this one is ", target.name,
                           ": its order of kernels is worth more than its seconds; `smelt profile` and `smelt train` "
                           "make a model of this one");
  }
  Machine trained_under = target;
  if (const absl::Status figures = trained_under.SetFigures(model.target_figures); !figures.ok())
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", figures.message()));
  std::unique_ptr<Engine> engines[2];
  const char* names[] = {"fusion", "tile"};
  for (int i = 0; i < 2; ++i) {
    auto it = model.tasks.find(names[i]);
    if (it == model.tasks.end()) continue;
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(it->second);
    if (!engine.ok())
      return absl::InvalidArgumentError(absl::StrCat(path, ": task `", names[i], "`: ", engine.status().message()));
    engines[i] = *std::move(engine);
  }
  if (engines[0] == nullptr && engines[1] == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(path, ": holds neither a fusion nor a tile network"));
  return std::make_unique<LearnedPredictor>(std::move(model), std::move(trained_under), std::move(engines[0]),
                                            std::move(engines[1]), std::move(warning), std::move(estimate));
}

std::unique_ptr<Predictor> EstimatePredictor(std::string name, KernelEstimate estimate) {
  return std::make_unique<AnalyticalPredictor>(std::move(name), std::move(estimate));
}

std::unique_ptr<Predictor> Predictor::Analytical(const Machine& target) {
  return std::make_unique<AnalyticalPredictor>(target);
}

}  // namespace smelt::gnn
