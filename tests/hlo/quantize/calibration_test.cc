#include "hlo/quantize/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace smelt::hlo::quantize {
namespace {

Literal Values(const std::vector<float>& values) {
  return Literal::FromValues<float>(PrimitiveType::kF32, {static_cast<int64_t>(values.size())}, values);
}

TEST(RangeObserver, KnowsTheLargestMagnitudeExactly) {
  RangeObserver observer;
  observer.Add(Values({0.25f, -3.5f}));
  observer.Add(Values({1e-3f, 2}));
  EXPECT_EQ(observer.Range({CalibrationMethod::kMax}), 3.5);
}

TEST(RangeObserver, CutsOutliersOff) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  RangeObserver observer;
  std::vector<float> values(100000);
  for (float& value : values) value = uniform(random);
  values[77] = 1000;
  observer.Add(Values(values));
  EXPECT_EQ(observer.Range({CalibrationMethod::kMax}), 1000);
  // The range doubled until 1000 fitted, so that a bin is up to half as wide as the whole of the others.
  EXPECT_NEAR(observer.Range({CalibrationMethod::kPercentile, 99.9}), 1, 0.5);
  EXPECT_NEAR(observer.Range({CalibrationMethod::kPercentile, 50}), 0.5, 0.5);
  EXPECT_EQ(observer.Range({CalibrationMethod::kPercentile, 100}), 1000);
}

TEST(RangeObserver, PercentilesAreFineWithoutOutliers) {
  std::mt19937 random(6);
  std::uniform_real_distribution<float> uniform(0, 1);
  RangeObserver observer;
  for (int i = 0; i < 10; ++i) {
    std::vector<float> values(10000);
    for (float& value : values) value = uniform(random);
    observer.Add(Values(values));
  }
  for (const double percentile : {50.0, 90.0, 99.0})
    EXPECT_NEAR(observer.Range({CalibrationMethod::kPercentile, percentile}), percentile / 100, 0.01);
}

TEST(RangeObserver, LeavesOutWhatIsNoNumber) {
  RangeObserver observer;
  observer.Add(Values({std::nanf(""), std::numeric_limits<float>::infinity(), 2}));
  EXPECT_EQ(observer.not_finite(), 2);
  EXPECT_EQ(observer.Range({}), 2);
}

TEST(RangeObserver, IsZeroWhereNothingElseCame) {
  RangeObserver observer;
  EXPECT_EQ(observer.Range({CalibrationMethod::kPercentile, 99}), 0);
  observer.Add(Values({0, 0}));
  EXPECT_EQ(observer.Range({CalibrationMethod::kPercentile, 99}), 0);
}

TEST(RangeObserver, ReadsNarrowFloats) {
  RangeObserver observer;
  Literal values(Shape::Array(PrimitiveType::kBF16, {2}));
  values.SetDouble(0, -1.5);
  observer.Add(values);
  EXPECT_EQ(observer.Range({}), 1.5);
}

}  // namespace
}  // namespace smelt::hlo::quantize
