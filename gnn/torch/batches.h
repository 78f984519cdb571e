// Makes tensors of examples, a batch at a time. Included by gnn/torch/*.cc only.
#pragma once

#include <random>
#include <vector>

#include "gnn/dataset/dataset.h"
#include "gnn/torch/network.h"
#include "gnn/train/train.h"

namespace smelt::gnn {

struct Normalizers {
  Normalizer nodes, kernels, tiles;
};
Normalizers FitNormalizers(const Dataset& data, const std::vector<int64_t>& examples);
// Leaves the columns of kernels' schedules (features/schedule_features.h) without weight.
void HideSchedules(Normalizer* kernels);

// A batch of the fusion task.
Batch MakeFusionBatch(const Dataset& data, absl::Span<const int64_t> examples, const Normalizers& normalizers);
// A batch of the tile task: at most `tiles` rows of each kernel, drawn without replacement (all, in order, when
// `random` is null).
Batch MakeTileBatch(const Dataset& data, absl::Span<const int64_t> examples, const Normalizers& normalizers,
                    int64_t tiles, std::mt19937_64* random);

}  // namespace smelt::gnn
