// Training of one task's network: deterministic under its seed, resumable after a kill.
//
//   TrainOptions options{.task = Task::kFusion, .checkpoint = "model.checkpoint"};
//   TaskModel model = TrainTask(data, split, options, &report).value();
//
// Fusion: squared error on log time, linear for errors beyond `linear_beyond` (Huber 1964), so that a few kernels of
// rare kinds do not rule the others. Tile: pairwise logistic rank loss within a kernel (MLSys 2021, Section 4.1:
// replacing it by squared error triples the error). AdamW, cosine schedule, gradient norm clipped at 1; weights are
// averaged over the last steps (Polyak and Juditsky 1992), and those of the best validation error are the result. The
// only header through which the rest of gnn/ reaches LibTorch, without including it.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"
#include "gnn/model/model_file.h"

namespace smelt::gnn {

enum class Task : uint8_t { kFusion, kTile };

struct TrainProgress {
  int64_t epoch = 0, epochs = 0;
  double train_loss = 0;
  double validation = 0;  // fusion: mean absolute error of log time; tile: 1 - mean tau
  double seconds = 0;     // of this run
};

struct TrainOptions {
  Task task = Task::kFusion;
  NetworkKind kind = NetworkKind::kGraphSage;
  int64_t hidden = 128;
  int64_t layers = 3;
  int64_t embedding = 32;
  int64_t epochs = 40;
  int64_t kernels_per_batch = 64;  // fusion
  int64_t tile_kernels_per_batch = 16;
  int64_t tiles_per_kernel = 32;  // sampled afresh in every epoch
  double learning_rate = 1e-3;
  double weight_decay = 1e-4;
  double linear_beyond = 0.1;  // of log time; 0: squared everywhere, as the papers have it
  double average = 0.998;      // what one step leaves of the average of weights; 0: none is formed
  double dropout =
      0;  // share of values set to zero while training; 0.1 made the error of unseen programs a third larger
  int64_t patience = 12;  // epochs without a better validation error before it ends
  uint64_t seed = 1;
  // Weights and normalisation to begin with instead of random ones: fine-tuning. Its shape counts, not `kind`,
  // `hidden`, `layers` and `embedding`.
  const TaskModel* init = nullptr;
  int threads = 0;         // 0: LibTorch's choice
  std::string checkpoint;  // written after every epoch and resumed from when it exists and fits; empty: none
  std::function<bool(const TrainProgress&)> progress;  // after every epoch; false ends with the best so far
};

struct TrainReport {
  int64_t epochs = 0;
  int64_t resumed_epoch = 0;  // 0: from nothing
  double best_validation = 0;
  double seconds = 0;
};

absl::StatusOr<TaskModel> TrainTask(const Dataset& data, const Split& split, const TrainOptions& options,
                                    TrainReport* report);

}  // namespace smelt::gnn
