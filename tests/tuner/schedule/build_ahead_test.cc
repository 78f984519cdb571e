#include "tuner/schedule/build_ahead.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/schedule/planted_target.h"
#include "tests/tuner/schedule/product_task.h"
#include "tuner/schedule/side_by_side.h"

namespace smelt::tuner {
namespace {

TEST(PlanBuilds, UsesTheCoresThatTimingLeaves) {
  EXPECT_EQ(PlanBuilds(1, 1).builders, 0);
  EXPECT_EQ(PlanBuilds(2, 1).builders, 1);
  EXPECT_TRUE(PlanBuilds(2, 1).beside);
  // What is timed on all cores has nothing beside it.
  EXPECT_EQ(PlanBuilds(2, 2).builders, 2);
  EXPECT_FALSE(PlanBuilds(2, 2).beside);
  EXPECT_FALSE(PlanBuilds(2, 4).beside);
  EXPECT_EQ(PlanBuilds(64, 1).builders, 4);
}

TEST(BuildAhead, TellsWhatBecameOfEachWay) {
  const ProductTask product(16);
  const PlantedTarget target([](const std::string& way) { return way == "bad" ? -1 : 1e-3; });
  BuildAhead ahead(target, product.kernel, {}, nullptr);
  if (UsableThreads(2) < 2) GTEST_SKIP() << "there is one core";
  for (int batch = 0; batch < 3; ++batch) {
    const size_t before = target.asked().compiled.size();
    ahead.Begin({"one", "bad", "two"});
    // What was not begun when it is asked for is left to who asks.
    size_t built = 0;
    for (const char* way : {"one", "bad", "two"}) {
      const std::optional<measure::Outcome> outcome = ahead.Await(way);
      if (!outcome) continue;
      ++built;
      EXPECT_EQ(outcome->failure, way == std::string("bad") ? measure::Failure::kBuildFailed : measure::Failure::kNone);
    }
    EXPECT_FALSE(ahead.Await("three").has_value());
    EXPECT_EQ(target.asked().compiled.size() - before, built);
  }
}

TEST(BuildAhead, DoesNothingForATargetThatKeepsNoCode) {
  const ProductTask product(16);
  PlantedTarget target([](const std::string&) { return 1e-3; });
  target.keeps_code_ = false;
  BuildAhead ahead(target, product.kernel, {}, nullptr);
  ahead.Begin({"one"});
  EXPECT_FALSE(ahead.Await("one").has_value());
  EXPECT_TRUE(target.asked().compiled.empty());
}

}  // namespace
}  // namespace smelt::tuner
