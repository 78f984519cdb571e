// Ranks of tiles that nobody timed, from a model that learns more from few of them: a tile takes long to time, and a
// network wants thousands of kernels where boosted trees are content with hundreds (distillation: Hinton, Vinyals and
// Dean, "Distilling the Knowledge in a Neural Network", 2015).
//
//   SMELT_ASSIGN_OR_RETURN(const Contender trees, BoostedContender(data, split.train));
//   SMELT_ASSIGN_OR_RETURN(const int64_t taught, TeachTiles(trees, split.train, &data));
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"
#include "gnn/eval/contender.h"

namespace smelt::gnn {

// Gives those of the examples that have tiles without times (LoadOptions::untimed_kernels) times in the teacher's
// order, and returns how many these are. The times mean nothing beyond their order within a kernel: none may be judged
// by.
absl::StatusOr<int64_t> TeachTiles(const Contender& teacher, const std::vector<int64_t>& examples, Dataset* data);

}  // namespace smelt::gnn
