// Gradient boosted regression trees: a model of few numbers that learns from some hundred rows in a fraction of a
// second. The only door to XGBoost (Chen and Guestrin, KDD 2016).
//
//   BoostData data;
//   data.rows.columns = 2;
//   data.rows.Add({1, 2});
//   data.rows.Add({3, 4});
//   data.labels = {0.5f, 1.0f};
//   const BoostedTrees trees = BoostedTrees::Train(data, {.objective = BoostObjective::kSquared}).value();
//   std::vector<float> labels = trees.Predict(data.rows).value();
//
// The same data, options and seed give the same trees: each training runs on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace smelt::gnn {

// A dense table, row after row. What is not known of a row is NaN.
struct Rows {
  int64_t columns = 0;
  std::vector<float> values;

  int64_t size() const { return columns == 0 ? 0 : static_cast<int64_t>(values.size()) / columns; }
  void Add(absl::Span<const float> row) { values.insert(values.end(), row.begin(), row.end()); }
  void Add(std::initializer_list<float> row) { values.insert(values.end(), row); }
  absl::Span<const float> operator[](int64_t row) const {
    return absl::MakeConstSpan(values).subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns));
  }
};

enum class BoostObjective : uint8_t {
  kSquared,  // predictions near the labels
  kRank,     // predictions in the labels' order within each group: logistic loss of pairs
};

struct BoostData {
  Rows rows;
  std::vector<float> labels;     // one a row
  std::vector<int64_t> groups;   // rows of each group, one group after the other; empty: all rows are one
  std::vector<float> base = {};  // what predictions are added to, one a row; empty: 0
};

struct BoostOptions {
  BoostObjective objective = BoostObjective::kRank;
  int depth = 4;
  double learning_rate = 0.2;
  double least_gain = 1e-4;      // of a split: `gamma`
  double weight_penalty = 1;     // `lambda`
  double column_share = 1;       // of the columns, drawn for each tree
  int rounds = 300;              // trees at most
  int patience = 20;             // trees without a smaller error on the held-out rows before it ends
  double held_out = 0.2;         // share of each group's rows that only say when to end; 0: all trees are made
  int64_t fewest_held_out = 16;  // with fewer rows than that to hold out, `few_rounds` trees are made of all rows
  int few_rounds = 40;
  uint64_t seed = 1;
};

class BoostedTrees {
 public:
  // Finds out on held-out rows how many trees serve, then makes so many of all rows. InvalidArgument: no rows, or sizes
  // that do not agree.
  static absl::StatusOr<BoostedTrees> Train(const BoostData& data, const BoostOptions& options);
  BoostedTrees(BoostedTrees&&) noexcept;
  BoostedTrees& operator=(BoostedTrees&&) noexcept;
  ~BoostedTrees();

  // One number a row, `base` (as BoostData::base) included. Thread-safe. InvalidArgument: another number of columns.
  absl::StatusOr<std::vector<float>> Predict(const Rows& rows, absl::Span<const float> base = {}) const;

  int trees() const;
  // On the held-out rows when it ended: root of the mean squared error, or the share of pairs in the wrong order. NaN:
  // nothing was held out.
  double held_out_error() const;

 private:
  struct Model;
  explicit BoostedTrees(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

// The share of the pairs within each group that `scores` puts in another order than the labels; pairs of equal labels
// do not count, pairs of equal scores count half. 0.5 where there are no pairs.
double MisorderedShare(absl::Span<const float> scores, absl::Span<const float> labels,
                       absl::Span<const int64_t> groups);

}  // namespace smelt::gnn
