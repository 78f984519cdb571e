#include "gnn/boost/boosted_contender.h"

#include "gmock/gmock.h"
#include "gnn/eval/evaluate.h"
#include "gnn/eval/metrics.h"
#include "gtest/gtest.h"
#include "tests/gnn/train/made_data.h"

namespace smelt::gnn {
namespace {

using ::testing::HasSubstr;

TEST(BoostedContender, LearnsTimesAndTilesThatTheEstimateDoesNotKnow) {
  const Dataset data = MakeData(300, 1, /*tiles=*/true);
  const Split split = SplitByProgram(data, {.validation = 0.2, .test = 0.2, .seed = 3});
  const Contender trees = BoostedContender(data, split.train, {.rounds = 120, .column_share = 1}).value();
  const EvalTable table =
      EvaluateModels(data, split.test, {trees, AnalyticalContender(FitAnalyticalFactors(data, split.train))}).value();
  const auto error_of = [](const std::map<std::string, FusionError>& errors) {
    std::vector<double> values;
    for (const auto& [program, error] : errors) values.push_back(error.mape);
    return Mean(values);
  };
  ASSERT_FALSE(table.contenders[0].large.empty());
  EXPECT_LT(error_of(table.contenders[0].large), 0.1);
  EXPECT_GT(error_of(table.contenders[1].large), 0.2);
  for (const auto& [program, error] : table.contenders[0].tiles) EXPECT_GT(error.tau, 0.6) << program;
}

TEST(BoostedContender, KnowsOnlyTheTaskThatItsKernelsHave) {
  const Dataset data = MakeData(40, 2);
  const Contender trees = BoostedContender(data, SplitByProgram(data, {}).train, {.rounds = 5}).value();
  EXPECT_TRUE(trees.seconds);
  EXPECT_FALSE(trees.tile_scores);
}

TEST(BoostedContender, WithoutTimesIsAnError) {
  Dataset data = MakeData(4, 2);
  for (Example& example : data.examples) example.seconds = 0;
  EXPECT_THAT(BoostedContender(data, {0, 1, 2, 3}).status().message(), HasSubstr("no kernel"));
}

}  // namespace
}  // namespace smelt::gnn
