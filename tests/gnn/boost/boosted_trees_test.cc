#include "gnn/boost/boosted_trees.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::gnn {
namespace {

// Rows of four columns; the label follows from the first two, with a step that a line cannot follow.
BoostData MakeData(int64_t rows, uint64_t seed, double shift = 0) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<float>(random() % 1000) / 1000.0f; };
  BoostData data;
  data.rows.columns = 4;
  for (int64_t i = 0; i < rows; ++i) {
    const float a = uniform(), b = uniform();
    data.rows.Add({a, b, uniform(), uniform()});
    data.labels.push_back(a + (b > 0.5f ? 2.0f : 0.0f) + static_cast<float>(shift));
  }
  return data;
}

TEST(BoostedTrees, PredictLabelsOfRowsThatTheyDidNotSee) {
  const BoostedTrees trees = BoostedTrees::Train(MakeData(600, 1), {.objective = BoostObjective::kSquared}).value();
  const BoostData other = MakeData(200, 2);
  const std::vector<float> predicted = trees.Predict(other.rows).value();
  double error = 0;
  for (size_t i = 0; i < predicted.size(); ++i) error += std::pow(predicted[i] - other.labels[i], 2);
  EXPECT_LT(std::sqrt(error / 200), 0.1);  // the labels' own deviation is about 1
  EXPECT_LT(trees.held_out_error(), 0.1);
}

TEST(BoostedTrees, RankWithinGroupsWhateverTheirLevels) {
  // The second group's labels are all higher: its level says nothing of the order within it.
  BoostData data = MakeData(300, 1);
  const BoostData second = MakeData(300, 2, /*shift=*/10);
  data.groups = {300, 300};
  data.rows.Add(second.rows.values);
  data.labels.insert(data.labels.end(), second.labels.begin(), second.labels.end());
  const BoostedTrees trees = BoostedTrees::Train(data, {.objective = BoostObjective::kRank}).value();
  const BoostData other = MakeData(200, 3);
  EXPECT_LT(MisorderedShare(trees.Predict(other.rows).value(), other.labels, {}), 0.06);
}

TEST(BoostedTrees, GiveTheSameNumbersForTheSameSeed) {
  const BoostData data = MakeData(200, 1);
  const BoostOptions options{.column_share = 0.5, .seed = 7};
  const std::vector<float> one = BoostedTrees::Train(data, options)->Predict(data.rows).value();
  EXPECT_EQ(one, BoostedTrees::Train(data, options)->Predict(data.rows).value());
  EXPECT_NE(one, BoostedTrees::Train(data, {.column_share = 0.5, .seed = 8})->Predict(data.rows).value());
}

TEST(BoostedTrees, AddToWhatIsKnownBefore) {
  BoostData data = MakeData(300, 1);
  data.base = data.labels;  // nothing is left to learn
  const BoostedTrees trees = BoostedTrees::Train(data, {.objective = BoostObjective::kSquared}).value();
  const std::vector<float> rest = trees.Predict(data.rows).value();
  for (const float one : rest) EXPECT_NEAR(one, 0, 1e-4);
  EXPECT_EQ(trees.Predict(data.rows, data.base).value().size(), 300u);
}

TEST(BoostedTrees, EndWhereMoreTreesDoNotServe) {
  BoostData noise = MakeData(300, 1);
  std::mt19937_64 random(5);
  for (float& label : noise.labels) label = static_cast<float>(random() % 1000);
  const BoostedTrees trees =
      BoostedTrees::Train(noise, {.objective = BoostObjective::kSquared, .rounds = 300, .patience = 10}).value();
  EXPECT_LT(trees.trees(), 60);
}

TEST(BoostedTrees, RefuseSizesThatDoNotAgree) {
  BoostData data = MakeData(10, 1);
  data.labels.pop_back();
  EXPECT_THAT(BoostedTrees::Train(data, {}).status().message(), testing::HasSubstr("10 rows, 9 labels"));
  EXPECT_FALSE(BoostedTrees::Train(BoostData(), {}).ok());
  const BoostedTrees trees = BoostedTrees::Train(MakeData(10, 1), {}).value();
  Rows narrow{.columns = 2, .values = {1, 2}};
  EXPECT_THAT(trees.Predict(narrow).status().message(), testing::HasSubstr("know 4 columns"));
}

TEST(MisorderedShare, CountsPairsWithinGroups) {
  EXPECT_EQ(MisorderedShare({1, 2, 3}, {1, 2, 3}, {}), 0);
  EXPECT_EQ(MisorderedShare({3, 2, 1}, {1, 2, 3}, {}), 1);
  EXPECT_EQ(MisorderedShare({1, 1}, {1, 2}, {}), 0.5);
  EXPECT_EQ(MisorderedShare({1, 2, 9, 8}, {1, 2, 3, 4}, {2, 2}), 0.5);
}

}  // namespace
}  // namespace smelt::gnn
