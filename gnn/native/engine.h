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

  // log(seconds / 100 ns) of each kernel. Thread-safe.
  std::vector<double> PredictLogTimes(absl::Span<const KernelGraph* const> kernels) const;
  // Scores of the tiles of one kernel, lower is better; `tile_rows` as TileFeatures makes them.
  std::vector<double> ScoreTiles(const KernelGraph& kernel, absl::Span<const float> tile_rows) const;

 private:
  struct Weights;
  explicit Engine(std::unique_ptr<Weights> weights);
  // The head's input of one kernel: head.pooled, head.kernel and the bias applied, before the tile joins.
  void Embed(const KernelGraph& kernel, float* joined) const;
  double Head(const float* joined) const;

  std::unique_ptr<Weights> weights_;
};

}  // namespace smelt::gnn
