#include "gnn/eval/metrics.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace smelt::gnn {
namespace {

// The definition of tau-b, pair by pair.
double TauByDefinition(const std::vector<double>& x, const std::vector<double>& y) {
  double score = 0, untied_x = 0, untied_y = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double dx = (x[i] > x[j]) - (x[i] < x[j]), dy = (y[i] > y[j]) - (y[i] < y[j]);
      score += dx * dy;
      untied_x += dx * dx;
      untied_y += dy * dy;
    }
  }
  return untied_x > 0 && untied_y > 0 ? score / std::sqrt(untied_x * untied_y) : 0;
}

TEST(KendallTau, AgreesWithItsDefinitionWithAndWithoutTies) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const size_t n = 2 + round % 17;
    std::uniform_int_distribution<int> value(0, round % 2 == 0 ? 4 : 1000000);
    std::vector<double> x(n), y(n);
    for (size_t i = 0; i < n; ++i) {
      x[i] = value(random);
      y[i] = value(random);
    }
    ASSERT_NEAR(KendallTau(x, y), TauByDefinition(x, y), 1e-12) << "round " << round;
  }
}

TEST(KendallTau, IsZeroWithoutAnOrder) {
  EXPECT_EQ(KendallTau({1}, {2}), 0);
  EXPECT_EQ(KendallTau({3, 3, 3}, {1, 2, 3}), 0);
}

TEST(SlowdownAt, TakesTheBestOfTheLowestScores) {
  const std::vector<double> scores = {0.3, 0.1, 0.2, 0.9}, seconds = {1.0, 3.0, 1.5, 2.0};
  EXPECT_DOUBLE_EQ(SlowdownAt(scores, seconds, 1), 2.0);
  EXPECT_DOUBLE_EQ(SlowdownAt(scores, seconds, 2), 0.5);
  EXPECT_DOUBLE_EQ(SlowdownAt(scores, seconds, 10), 0.0);
}

TEST(MeanAbsolutePercentageError, IsRelativeToTheMeasuredTime) {
  EXPECT_NEAR(MeanAbsolutePercentageError({1.1, 4.0}, {1.0, 8.0}), 0.3, 1e-12);
  EXPECT_EQ(MeanAbsolutePercentageError({}, {}), 0);
}

}  // namespace
}  // namespace smelt::gnn
