// Gradient boosted trees as a contender of an evaluation: what a kernel's graph is worth beyond its sums.
//
//   Contender trees = BoostedContender(data, split.train).value();
//
// A row is the kernel's columns, its opcodes counted, and the mean, maximum and sum of each column over its nodes; for
// tiles, the tile's columns beside them. Objectives and labels are the networks': the logarithm of measured over
// estimated time by squared error, tiles by pairs (Kaufman et al., MLSys 2021, Section 4.2; trees as in AutoTVM, Chen
// et al., NeurIPS 2018).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gnn/dataset/dataset.h"
#include "gnn/eval/contender.h"

namespace smelt::gnn {

struct BoostedContenderOptions {
  int rounds = 400;  // trees
  int depth = 8;
  double learning_rate = 0.06;
  double column_share = 0.3;
  uint64_t seed = 1;
  bool times = true;  // whether it learns times, too, and not the order of tiles alone
};

// Learns from these examples; a minute for 50,000 kernels. InvalidArgument: none of them has a time or tiles.
absl::StatusOr<Contender> BoostedContender(const Dataset& data, const std::vector<int64_t>& examples,
                                           const BoostedContenderOptions& options = {});

}  // namespace smelt::gnn
