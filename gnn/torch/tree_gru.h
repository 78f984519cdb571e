// A recurrent network over the tree of a program's loops, for the order or the value of schedules.
//
//   TreeGru model({.hidden = 64});
//   model.Fit(trees, scores).ok();                        // some hundred rows, seconds
//   std::vector<double> predicted = model.Predict(trees);
//
// TreeGRU with context-encoded loop variables (Learning to Optimize Tensor Programs, NeurIPS 2018, Section 3.1 and
// Figure 3d): each loop's context vector passes a linear layer; a GRU cell goes from the innermost loops outwards, its
// state the sum over the loops directly within; each loop's state is shared among a few slots by a softmax, and the
// slots and the kernel's own numbers give the score. Included by users without LibTorch: nothing of it is in here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace smelt::gnn {

// The loops of one schedule; a loop comes after the loop around it.
struct LoopTreeRow {
  std::vector<float> contexts;  // loops x width
  std::vector<int> parents;     // -1: none
  std::vector<float> whole;     // numbers of the kernel, as many in every row

  int size() const { return static_cast<int>(parents.size()); }
};

struct TreeGruOptions {
  int hidden = 64, slots = 8;
  int epochs = 60;
  int rows_per_batch = 64;
  double learning_rate = 2e-3, weight_decay = 1e-4;
  bool rank = true;       // logistic loss of pairs within a batch; false: squared error
  double held_out = 0.2;  // share of the rows that say which epoch was best
  int patience = 10;      // epochs without a smaller held-out error before it ends
  int threads = 0;        // 0: LibTorch's choice
  uint64_t seed = 1;
};

class TreeGru {
 public:
  explicit TreeGru(const TreeGruOptions& options);
  ~TreeGru();
  TreeGru(const TreeGru&) = delete;
  TreeGru& operator=(const TreeGru&) = delete;

  // Trains from new weights; the best epoch's stay. InvalidArgument: no rows, or of different widths.
  absl::Status Fit(absl::Span<const LoopTreeRow> rows, absl::Span<const double> scores);
  // One score a row; Fit comes first.
  std::vector<double> Predict(absl::Span<const LoopTreeRow> rows) const;

 private:
  struct Model;
  const TreeGruOptions options_;
  std::unique_ptr<Model> model_;
};

}  // namespace smelt::gnn
