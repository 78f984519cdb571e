#include "tuner/comparison.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace smelt::tuner {
namespace {

using Rounds = std::vector<std::vector<double>>;

Rounds Scaled(const Rounds& rounds, const std::vector<double>& of_child) {
  Rounds scaled = rounds;
  for (size_t c = 0; c < rounds.size(); ++c) {
    for (double& seconds : scaled[c]) seconds *= of_child[c];
  }
  return scaled;
}

const Rounds kUsual = {{1.00, 1.01, 0.99, 1.02}, {1.10, 1.11, 1.09, 1.10}, {0.95, 0.96, 0.95, 0.94}};

TEST(CompareRounds, AProgramIsNotFasterThanItself) {
  const Comparison compared = CompareRounds(kUsual, kUsual);
  EXPECT_EQ(compared.gain, 0);
  EXPECT_FALSE(compared.always);
  EXPECT_FALSE(compared.better);
}

TEST(CompareRounds, ATenthFasterInEveryChildIsBetter) {
  const Comparison compared = CompareRounds(kUsual, Scaled(kUsual, {0.9, 0.9, 0.9}));
  EXPECT_NEAR(compared.gain, std::log(1 / 0.9), 1e-9);
  EXPECT_TRUE(compared.always);
  EXPECT_TRUE(compared.better);
  EXPECT_NEAR(compared.tuned_seconds, 0.9 * compared.usual_seconds, 1e-9);
}

TEST(CompareRounds, SlowerInOneChildIsNotBetter) {
  const Comparison compared = CompareRounds(kUsual, Scaled(kUsual, {0.7, 0.7, 1.01}));
  EXPECT_FALSE(compared.always);
  EXPECT_FALSE(compared.better);
}

TEST(CompareRounds, ChildrenThatDisagreeLeaveItOpen) {
  const Comparison compared = CompareRounds(kUsual, Scaled(kUsual, {0.99, 0.98, 0.80}));
  EXPECT_TRUE(compared.always);
  EXPECT_FALSE(compared.better);
  EXPECT_GT(compared.noise, 0.02);
}

TEST(CompareRounds, AMedianThatIsSlowerIsNotBetter) {
  // Faster in four rounds of five, and the pace changed in the middle one.
  const Comparison compared = CompareRounds({{1, 2, 3, 10, 11}}, {{0.9, 1.9, 3.5, 9, 10}});
  EXPECT_GT(compared.gain, 2 * compared.noise);
  EXPECT_TRUE(compared.always);
  EXPECT_GT(compared.tuned_seconds, compared.usual_seconds);
  EXPECT_FALSE(compared.better);
}

TEST(CompareRounds, NothingToCompareIsNotBetter) { EXPECT_FALSE(CompareRounds({{}}, {{}}).better); }

}  // namespace
}  // namespace smelt::tuner
