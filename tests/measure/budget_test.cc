#include "measure/budget.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace smelt::measure {
namespace {

TEST(Budget, EverySecondCountsForOnePhase) {
  Budget budget(40, 3);
  budget.Enter(Phase::kSearching);
  budget.Enter(Phase::kVerifying);
  EXPECT_GE(budget.spent(Phase::kPreparing), 3);
  EXPECT_EQ(budget.spent(Phase::kComparing), 0);
  double sum = 0;
  for (int i = 0; i < kPhases; ++i) sum += budget.spent(static_cast<Phase>(i));
  EXPECT_NEAR(sum, budget.spent(), 0.01);
  EXPECT_NEAR(budget.left() + budget.spent(), 40, 0.01);
  EXPECT_THAT(budget.ToString(), ::testing::ContainsRegex("s of 40 s: [0-9.]+ s preparing, 0.0 s searching, "));
}

TEST(Budget, AMomentOfItLiesSoManySecondsAfterItsBegin) {
  const Budget budget(40, 3);
  const double until = std::chrono::duration<double>(budget.At(40) - Budget::Clock::now()).count();
  EXPECT_NEAR(until, budget.left(), 0.01);
}

}  // namespace
}  // namespace smelt::measure
