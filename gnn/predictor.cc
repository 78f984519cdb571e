#include "gnn/predictor.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gnn/dataset/kernel_kind.h"
#include "gnn/estimate.h"
#include "gnn/features/features.h"
#include "gnn/features/log_time.h"
#include "gnn/features/tile_rows.h"
#include "gnn/model/model_file.h"
#include "gnn/native/engine.h"
#include "gnn/native/scratch.h"
#include "kernels/cost/analytical.h"
#include "machine/target_id.h"

namespace smelt::gnn {
namespace {

using fusion::Kernel;
using kernels::nests::Tile;
using machine::Machine;

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

// Scores block by block, what `score` makes of one.
template <typename ScoreBlock>
int64_t ScoreInBlocks(const std::vector<int64_t>& dimensions, const int64_t* extents, int64_t count, float* scores,
                      const ScoreBlock& score) {
  const int64_t rank = static_cast<int64_t>(dimensions.size());
  int64_t misfits = 0;
  int64_t mended[TileRows::kBlock * TileRows::kMostRank];
  for (int64_t begin = 0; begin < count; begin += TileRows::kBlock) {
    const int some = static_cast<int>(std::min<int64_t>(TileRows::kBlock, count - begin));
    const int64_t* block = extents + begin * rank;
    bool all_fit = true;
    for (int64_t i = 0; i < some * rank; ++i) all_fit &= block[i] >= 1 && block[i] <= dimensions[i % rank];
    if (!all_fit) {
      for (int64_t i = 0; i < some * rank; ++i) mended[i] = std::clamp<int64_t>(block[i], 1, dimensions[i % rank]);
      block = mended;
    }
    score(block, some, scores + begin);
    for (int i = 0; i < some && !all_fit; ++i) {
      if (std::equal(mended + i * rank, mended + (i + 1) * rank, extents + (begin + i) * rank)) continue;
      scores[begin + i] = std::numeric_limits<float>::infinity();
      ++misfits;
    }
  }
  return misfits;
}

class AnalyticallyPrepared : public PreparedKernel {
 public:
  AnalyticallyPrepared(const hlo::Computation& kernel, const Machine& target) : rows_(kernel, target) {}
  bool has_tiles() const override { return rows_.has_tiles(); }
  const std::vector<int64_t>& dimensions() const override { return rows_.dimensions(); }
  int64_t Score(const int64_t* extents, int64_t count, float* scores) const override {
    return ScoreInBlocks(dimensions(), extents, count, scores,
                         [&](const int64_t* block, int some, float* out) { rows_.Estimate(block, some, out); });
  }

 private:
  const TileRows rows_;
};

class EmbeddedKernel : public PreparedKernel {
 public:
  EmbeddedKernel(const hlo::Computation& kernel, const Machine& target, const Engine& engine,
                 const KernelEstimate& estimate)
      : rows_(kernel, target),
        engine_(engine),
        embedded_(engine.EmbedForTiles(ExtractFeatures(kernel, target, estimate, {}, engine.UsesSchedules()))) {}
  bool has_tiles() const override { return rows_.has_tiles(); }
  const std::vector<int64_t>& dimensions() const override { return rows_.dimensions(); }
  int64_t Score(const int64_t* extents, int64_t count, float* scores) const override {
    Scratch scratch;
    float* const columns = scratch.Take(static_cast<int64_t>(TileColumns().size()) * TileRows::kBlock);
    return ScoreInBlocks(dimensions(), extents, count, scores, [&](const int64_t* block, int some, float* out) {
      rows_.FillBlock(block, some, columns);
      engine_.ScoreBlock(embedded_, columns, some, out);
    });
  }

 private:
  const TileRows rows_;
  const Engine& engine_;
  const std::vector<float> embedded_;
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

  absl::StatusOr<std::unique_ptr<PreparedKernel>> Prepare(const hlo::Computation& kernel) const override {
    return std::make_unique<AnalyticallyPrepared>(kernel, target_);
  }
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
  LearnedPredictor(ModelFile model, Machine target, Machine here, std::unique_ptr<Engine> fusion,
                   std::unique_ptr<Engine> tile, std::string warning, KernelEstimate estimate)
      : model_(std::move(model)),
        target_(std::move(target)),
        here_(std::move(here)),
        fusion_(std::move(fusion)),
        tile_(std::move(tile)),
        warning_(std::move(warning)),
        estimate_(std::move(estimate)) {}

  std::string Describe() const override { return model_.summary; }
  std::string Warning() const override { return warning_; }
  std::string Compiler() const override { return model_.calibration ? model_.calibration->compiler : model_.compiler; }
  bool HasFusionTask() const override { return fusion_ != nullptr; }
  bool HasTileTask() const override { return tile_ != nullptr; }

  absl::StatusOr<std::unique_ptr<PreparedKernel>> Prepare(const hlo::Computation& kernel) const override {
    SMELT_RETURN_IF_ERROR(CheckTileTask());
    return std::make_unique<EmbeddedKernel>(kernel, target_, *tile_, estimate_);
  }
  absl::StatusOr<std::vector<double>> ScoreTiles(const Kernel& kernel, absl::Span<const Tile> tiles) override {
    SMELT_RETURN_IF_ERROR(CheckTileTask());
    const KernelGraph graph =
        ExtractFeatures(kernel.computation(), target_, estimate_, kernel.distances, tile_->UsesSchedules());
    return tile_->ScoreTiles(graph, TileFeatures(kernel.computation(), tiles, target_));
  }

 protected:
  absl::StatusOr<std::vector<double>> Compute(absl::Span<const Kernel* const> kernels) override {
    if (fusion_ == nullptr) {
      return absl::FailedPreconditionError(
          "the model was not trained for the fusion task; train it with --task=fusion or --task=both");
    }
    SMELT_ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, PredictNow(kernels));
    std::vector<double> seconds;
    for (const Prediction& prediction : predictions) seconds.push_back(prediction.seconds);
    return seconds;
  }

 public:
  absl::StatusOr<std::vector<Prediction>> Predict(absl::Span<const Kernel* const> kernels) override {
    if (fusion_ == nullptr) return Predictor::Predict(kernels);
    SMELT_ASSIGN_OR_RETURN(std::vector<Prediction> predictions, PredictNow(kernels));
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (fusion::IsFree(kernels[i]->computation())) predictions[i] = {};
    }
    return predictions;
  }

 private:
  absl::Status CheckTileTask() const {
    if (tile_ != nullptr) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "the model was not trained for the tile task; train it with --task=tile or --task=both");
  }

  absl::StatusOr<std::vector<Prediction>> PredictNow(absl::Span<const Kernel* const> kernels) const {
    std::vector<KernelGraph> graphs;
    std::vector<const KernelGraph*> pointers;
    graphs.reserve(kernels.size());
    const bool scheduled = fusion_->UsesSchedules();
    for (const Kernel* kernel : kernels)
      graphs.push_back(ExtractFeatures(kernel->computation(), target_, estimate_, kernel->distances, scheduled));
    for (const KernelGraph& graph : graphs) pointers.push_back(&graph);
    std::vector<float> hidden;
    const std::vector<double> log_times = fusion_->PredictLogTimes(pointers, model_.calibration ? &hidden : nullptr);
    std::vector<Prediction> predictions;
    const size_t width = static_cast<size_t>(fusion_->HiddenWidth());
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (!model_.calibration) {
        predictions.push_back({SecondsOfLogTime(log_times[i]), model_.log_deviation});
        continue;
      }
      const hlo::Computation& kernel = kernels[i]->computation();
      predictions.push_back(model_.calibration->Predict(KernelKind(kernel),
                                                        kernels::cost::EstimateKernel(kernel, here_),
                                                        graphs[i].LogEstimate(), &hidden[i * width], width));
    }
    return predictions;
  }

 private:
  const ModelFile model_;
  const Machine target_;  // under the figures of the machine that the model was trained on
  const Machine here_;    // under those of the calibration
  const std::unique_ptr<Engine> fusion_, tile_;
  std::string warning_;
  KernelEstimate estimate_;
};

absl::StatusOr<std::unique_ptr<Predictor>> Make(ModelFile model, const std::string& path, const Machine& target,
                                                std::string_view kind, KernelEstimate estimate) {
  const machine::TargetId trained = machine::TargetId::Parse(model.target);
  if (trained.kind != kind) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": predicts kernels of target `", model.target,
                                                      "`, and kernels of `", std::string(kind), ":", target.name,
                                                      "` are asked for. Give a model that was trained on these"));
  }
  std::string warning;
  if (model.calibration) {
    // It was adapted to a machine; the caller chose it for this one.
  } else if (!trained.cpu.empty() && trained.cpu != target.name) {
    warning = absl::StrCat(path, ": was trained on another CPU, ", trained.cpu, ", and this one is ", target.name,
                           ": its order of kernels is worth more than its seconds; `smelt calibrate` adapts it to "
                           "this one in two minutes");
  }
  Machine trained_under = target;
  if (const absl::Status figures = trained_under.TakeFigures(model.target_figures); !figures.ok())
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", figures.message()));
  Machine here = target;
  if (model.calibration) {
    if (const absl::Status figures = here.TakeFigures(model.calibration->figures); !figures.ok())
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", figures.message()));
  }
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
  return std::make_unique<LearnedPredictor>(std::move(model), std::move(trained_under), std::move(here),
                                            std::move(engines[0]), std::move(engines[1]), std::move(warning),
                                            std::move(estimate));
}

}  // namespace

absl::StatusOr<std::vector<Prediction>> Predictor::Predict(absl::Span<const Kernel* const> kernels) {
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> seconds, PredictSeconds(kernels));
  std::vector<Prediction> predictions;
  for (const double s : seconds) predictions.push_back({s});
  return predictions;
}

absl::StatusOr<std::unique_ptr<PreparedKernel>> Predictor::Prepare(const hlo::Computation&) const {
  return absl::FailedPreconditionError(absl::StrCat("kernels cannot be prepared for tiles: ", Describe()));
}

absl::StatusOr<double> Predictor::PredictSeconds(const Kernel& kernel) {
  const Kernel* pointer = &kernel;
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> seconds, PredictSeconds(absl::MakeConstSpan(&pointer, 1)));
  return seconds[0];
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Of(ModelFile model, const std::string& path,
                                                         const Machine& target, std::string_view kind) {
  return Make(std::move(model), path, target, kind, {});
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Load(const std::string& path, const Machine& target,
                                                           std::string_view kind) {
  return LoadWithEstimate(path, target, kind, {});
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::LoadForItsTarget(const std::string& path) {
  SMELT_ASSIGN_OR_RETURN(ModelFile model, LoadModel(path));
  SMELT_ASSIGN_OR_RETURN(const Machine machine, MachineOf(model));
  const std::string kind = machine::TargetId::Parse(model.target).kind;
  return Make(std::move(model), path, machine, kind, {});
}

absl::StatusOr<std::unique_ptr<Predictor>> LoadWithEstimate(const std::string& path, const Machine& target,
                                                            std::string_view kind, KernelEstimate estimate) {
  SMELT_ASSIGN_OR_RETURN(ModelFile model, LoadModel(path));
  return Make(std::move(model), path, target, kind, std::move(estimate));
}

std::unique_ptr<Predictor> EstimatePredictor(std::string name, KernelEstimate estimate) {
  return std::make_unique<AnalyticalPredictor>(std::move(name), std::move(estimate));
}

std::unique_ptr<Predictor> Predictor::Analytical(const Machine& target) {
  return std::make_unique<AnalyticalPredictor>(target);
}

}  // namespace smelt::gnn
