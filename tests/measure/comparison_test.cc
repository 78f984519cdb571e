#include "measure/comparison.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace smelt::measure {
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

// Share of `count` comparisons that end with "better": rounds with a standard deviation of 1 % in children in which one
// of the two programs is favoured with another one, and a true gain (logarithms).
double ShareOfBetter(double child_deviation, double gain, int children, int count) {
  std::mt19937_64 random(17);
  std::normal_distribution<double> of_round(0, 0.01), of_child(0, child_deviation);
  int better = 0;
  for (int i = 0; i < count; ++i) {
    Rounds usual(children), tuned(children);
    for (int c = 0; c < children; ++c) {
      const double favour = of_child(random);
      for (int round = 0; round < ComparisonOptions().rounds; ++round) {
        usual[c].push_back(std::exp(of_round(random)));
        tuned[c].push_back(std::exp(of_round(random) - gain - favour));
      }
    }
    better += CompareRounds(usual, tuned).better;
  }
  return static_cast<double>(better) / count;
}

TEST(CompareRounds, AProgramIsNotFasterThanItself) {
  const Comparison compared = CompareRounds(kUsual, kUsual);
  EXPECT_EQ(compared.gain, 0);
  EXPECT_LT(compared.low, 0);
  EXPECT_GT(compared.high, 0);
  EXPECT_FALSE(compared.better);
}

TEST(CompareRounds, AProgramIsCalledFasterThanItselfLessThanOnceInAHundred) {
  for (const double child_deviation : {0.0, 0.005, 0.01, 0.03, 0.06, 0.1}) {
    for (const int children : {2, 3, 5, 8})
      EXPECT_LE(ShareOfBetter(child_deviation, 0, children, 10000), 0.01) << child_deviation << ", " << children;
  }
}

// Another process takes the core for longer than a kernel lasts, in most rounds of the one or of the other.
TEST(CompareRounds, TheLeastTimesOfAKernelTellItsGainThroughDisturbances) {
  const Rounds usual = {{1.0, 9.0, 9.0}, {1.0, 1.0, 1.0}, {9.0, 9.0, 1.01}, {1.0, 9.0, 1.0}};
  const Rounds tuned = {{0.8, 0.8, 0.8}, {8.8, 0.8, 8.8}, {0.8, 0.81, 0.8}, {8.8, 8.8, 0.8}};
  EXPECT_FALSE(CompareRounds(usual, tuned).better);
  const Comparison least = CompareRounds(usual, tuned, /*exact=*/false, /*least=*/true);
  EXPECT_TRUE(least.better);
  EXPECT_NEAR(std::exp(least.gain), 1.25, 0.01);
  EXPECT_NEAR(least.usual_seconds, 1.0, 0.02);
  EXPECT_FALSE(CompareRounds(usual, usual, /*exact=*/false, /*least=*/true).better);
}

TEST(CompareRounds, ATrueGainIsFoundWherePlacementsDifferByLess) {
  const int children = ComparisonOptions().children;
  EXPECT_GE(ShareOfBetter(0.005, 0.02, children, 2000), 0.95);
  EXPECT_GE(ShareOfBetter(0.01, 0.02, children, 2000), 0.75);
  EXPECT_GE(ShareOfBetter(0.03, 0.10, children, 2000), 0.95);
  EXPECT_GE(ShareOfBetter(0.01, 0.30, 3, 2000), 0.95);  // where there is time for few children
  EXPECT_GE(ShareOfBetter(0.06, 0.50, 2, 2000), 0.90);
}

// Two children that differ by a tenth would say by themselves "between 0.04 and 130 times as fast".
TEST(CompareRounds, TwoChildrenTellALargeGainThoughTheyDiffer) {
  const Rounds usual = {{1, 1, 1}, {1, 1, 1}};
  const Comparison compared = CompareRounds(usual, Scaled(usual, {0.60, 0.66}));
  EXPECT_TRUE(compared.better);
  EXPECT_LT(std::exp(compared.high - compared.low), 2);
  EXPECT_FALSE(CompareRounds(usual, Scaled(usual, {0.90, 0.91})).better);
  EXPECT_FALSE(CompareRounds(usual, Scaled(usual, {0.50, 0.95})).better);
}

TEST(CompareRounds, ATenthFasterInEveryChildIsBetterByAnIntervalAroundThat) {
  const Comparison compared = CompareRounds(kUsual, Scaled(kUsual, {0.9, 0.9, 0.9}));
  EXPECT_EQ(compared.children, 3);
  EXPECT_NEAR(compared.gain, std::log(1 / 0.9), 1e-9);
  EXPECT_LT(compared.low, compared.gain);
  EXPECT_GT(compared.high, compared.gain);
  EXPECT_GT(compared.low, 0);
  EXPECT_TRUE(compared.better);
  EXPECT_NEAR(compared.tuned_seconds, 0.9 * compared.usual_seconds, 1e-9);
}

TEST(CompareRounds, OneChildTellsNothing) {
  const Comparison compared = CompareRounds({{1, 1, 1}}, {{0.5, 0.5, 0.5}});
  EXPECT_EQ(compared.children, 1);
  EXPECT_FALSE(compared.better);
  EXPECT_TRUE(std::isinf(compared.low));
}

TEST(CompareRounds, ChildrenThatDisagreeLeaveItOpen) {
  EXPECT_FALSE(CompareRounds(kUsual, Scaled(kUsual, {0.7, 0.7, 1.01})).better);
  EXPECT_FALSE(CompareRounds(kUsual, Scaled(kUsual, {0.99, 0.98, 0.80})).better);
}

TEST(CompareRounds, AMedianThatIsSlowerIsNotBetter) {
  // Faster in four rounds of five, and the pace changed in the middle one.
  const std::vector<double> usual = {1, 2, 3, 10, 11}, tuned = {0.9, 1.8, 3.5, 9, 9.9};
  const Comparison compared = CompareRounds({usual, usual, usual}, {tuned, tuned, tuned});
  EXPECT_GT(compared.low, 0);
  EXPECT_GT(compared.tuned_seconds, compared.usual_seconds);
  EXPECT_FALSE(compared.better);
}

TEST(ChildrenToTell, ALargeGainAsksForFewAndASmallOneForAll) {
  EXPECT_EQ(ChildrenToTell(0.5, 8), 4);
  EXPECT_EQ(ChildrenToTell(0.1, 8), 5);
  EXPECT_EQ(ChildrenToTell(0.01, 8), 8);
  EXPECT_EQ(ChildrenToTell(0, 8), 8);
  EXPECT_EQ(ChildrenToTell(0.5, 3), 3);
}

TEST(ChildrenToTell, SoManyTellTheGain) {
  for (const double gain : {0.06, 0.1, 0.3})
    EXPECT_GE(ShareOfBetter(0.015, gain, ChildrenToTell(gain, 8), 2000), 0.95) << gain;
}

TEST(CompareRounds, NothingToCompareIsNotBetter) { EXPECT_FALSE(CompareRounds({{}}, {{}}).better); }

}  // namespace
}  // namespace smelt::measure
