#include "gnn/torch/tree_gru.h"

#include <random>

#include "gnn/boost/boosted_trees.h"
#include "gtest/gtest.h"

namespace smelt::gnn {
namespace {

// Chains of loops with two numbers each; the score is the product of the first numbers, outermost doubled: it follows
// from where in the tree a loop stands.
void MakeTrees(int count, uint64_t seed, std::vector<LoopTreeRow>* rows, std::vector<double>* scores) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < count; ++i) {
    LoopTreeRow row;
    double score = 0;
    const int loops = 2 + static_cast<int>(random() % 3);
    for (int loop = 0; loop < loops; ++loop) {
      const float value = static_cast<float>(random() % 100) / 100.0f;
      row.contexts.insert(row.contexts.end(), {value, loop == 0 ? 1.0f : 0.0f});
      row.parents.push_back(loop - 1);
      score += (loop == 0 ? 3 : 1) * value;
    }
    row.whole = {static_cast<float>(loops)};
    rows->push_back(row);
    scores->push_back(score / loops);
  }
}

double Misordered(const TreeGru& model) {
  std::vector<LoopTreeRow> rows;
  std::vector<double> scores;
  MakeTrees(150, 99, &rows, &scores);
  const std::vector<double> predicted = model.Predict(rows);
  const std::vector<float> a(predicted.begin(), predicted.end()), b(scores.begin(), scores.end());
  return MisorderedShare(a, b, {});
}

TEST(TreeGru, LearnsTheOrderOfTreesThatItDidNotSee) {
  std::vector<LoopTreeRow> rows;
  std::vector<double> scores;
  MakeTrees(300, 1, &rows, &scores);
  for (const bool rank : {true, false}) {
    TreeGru model({.hidden = 32, .slots = 4, .epochs = 40, .rank = rank, .threads = 1});
    ASSERT_TRUE(model.Fit(rows, scores).ok());
    EXPECT_LT(Misordered(model), 0.12) << (rank ? "rank" : "regression");
  }
}

TEST(TreeGru, GivesTheSameNumbersForTheSameSeed) {
  std::vector<LoopTreeRow> rows;
  std::vector<double> scores;
  MakeTrees(60, 1, &rows, &scores);
  std::vector<double> first;
  for (int turn = 0; turn < 2; ++turn) {
    TreeGru model({.hidden = 8, .epochs = 3, .threads = 1, .seed = 4});
    ASSERT_TRUE(model.Fit(rows, scores).ok());
    if (turn == 0) first = model.Predict(rows);
    EXPECT_EQ(model.Predict(rows), first);
  }
}

TEST(TreeGru, RefusesRowsOfDifferentWidths) {
  std::vector<LoopTreeRow> rows;
  std::vector<double> scores;
  MakeTrees(3, 1, &rows, &scores);
  rows[1].contexts.push_back(1);
  TreeGru model({});
  EXPECT_EQ(model.Fit(rows, scores).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(model.Fit({}, {}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace smelt::gnn
