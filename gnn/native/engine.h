// Runs the networks without LibTorch, for prediction: plain loops over exported weights, vectorised by the compiler for
// the CPU at hand.
//
// Agrees with gnn/torch/network.h to 1e-5 relative. A framework's dispatch alone would cost more than these kernels'
// arithmetic (100 to 200 us a call against 50 us for a kernel of 41 nodes).
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gnn/features/features.h"
#include "gnn/model/model_file.h"

namespace smelt::gnn {

class Engine {
 public:
  // InvalidArgument when a weight is missing or has another shape than the network needs.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(const TaskModel& task);
  ~Engine();

  // log(seconds / 100 ns) of each kernel. Thread-safe. `hidden`, where given, receives the values that the last layer
  // weighs, HiddenWidth() a kernel: what calibration fits another last layer to (calibration/last_layer.h).
  std::vector<double> PredictLogTimes(absl::Span<const KernelGraph* const> kernels,
                                      std::vector<float>* hidden = nullptr) const;
  int64_t HiddenWidth() const;
  // Whether it looks at columns of schedules (features/schedule_features.h): models from before these do not, nor do
  // networks of tiles.
  bool UsesSchedules() const;
  // Whether it looks at how far away arrays lie: models of kernels that were timed with near ones do not.
  bool UsesDistances() const;

  // Scores of the tiles of one kernel, lower is better; `tile_rows` as TileFeatures makes them.
  std::vector<double> ScoreTiles(const KernelGraph& kernel, absl::Span<const float> tile_rows) const;
  // The same in two steps, for many tiles: the kernel as the head sees it, which no tile changes, and the scores of one
  // block of tiles, whose columns are as TileRows::FillBlock leaves them. Empty where the network knows no tiles.
  // Scores beyond `count` are not written. The second allocates nothing but in a thread's first call.
  std::vector<float> EmbedForTiles(const KernelGraph& kernel) const;
  void ScoreBlock(const std::vector<float>& embedded, const float* columns, int count, float* scores) const;

  struct Weights;  // what engine.cc makes of a TaskModel

 private:
  explicit Engine(std::unique_ptr<Weights> weights);
  // The head's inputs of the kernels: head.pooled, head.kernel and the bias applied, before a tile joins.
  void Embed(absl::Span<const KernelGraph* const> kernels, float* joined) const;

  void PassMessages(absl::Span<const KernelGraph* const> kernels, int64_t nodes, float* state) const;
  void LastState(const float* state, int64_t nodes, float* last) const;

  std::unique_ptr<Weights> weights_;
};

}  // namespace smelt::gnn
