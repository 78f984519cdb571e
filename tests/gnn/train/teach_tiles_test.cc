#include "gnn/train/teach_tiles.h"

#include "gnn/boost/boosted_contender.h"
#include "gnn/eval/metrics.h"
#include "gtest/gtest.h"
#include "tests/gnn/train/made_data.h"

namespace smelt::gnn {
namespace {

TEST(TeachTiles, RanksWhatNobodyTimedAsItsTeacherDoesAndNothingElse) {
  Dataset data = MakeData(120, 2, /*tiles=*/true);
  const Dataset truth = data;
  // Every other kernel has no times of its tiles; the last ten are held out.
  std::vector<int64_t> learned;
  for (int64_t i = 0; i < 110; ++i) learned.push_back(i);
  for (size_t i = 0; i < data.examples.size(); i += 2) data.examples[i].tile_seconds.clear();
  const Contender trees = BoostedContender(data, learned, {.rounds = 120, .column_share = 1, .times = false}).value();
  EXPECT_FALSE(trees.seconds);
  EXPECT_EQ(TeachTiles(trees, learned, &data).value(), 55);
  double tau = 0;
  for (int64_t i = 0; i < 120; ++i) {
    const std::vector<double>&now = data.examples[i].tile_seconds, &then = truth.examples[i].tile_seconds;
    if (i % 2 == 1) {
      EXPECT_EQ(now, then);
    } else if (i >= 110) {
      EXPECT_TRUE(now.empty());
    } else {
      ASSERT_EQ(now.size(), then.size());
      tau += KendallTau(now, then) / 55;
    }
  }
  EXPECT_GT(tau, 0.8);
}

TEST(TeachTiles, ATeacherOfTimesAloneTeachesNothing) {
  Dataset data = MakeData(4, 2, /*tiles=*/true);
  for (Example& example : data.examples) example.tile_seconds.clear();
  EXPECT_EQ(TeachTiles(RoughContender(), {0, 1, 2, 3}, &data).value(), 0);
}

}  // namespace
}  // namespace smelt::gnn
