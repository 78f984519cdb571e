// How large values become: what quantisation learns from running a program on inputs.
//
//   RangeObserver observer;
//   observer.Add(activations);              // once an input
//   observer.Range({CalibrationMethod::kPercentile, 99.99})
//
// Magnitudes are counted in a histogram whose range doubles when a larger one comes, so that one pass over the inputs
// is enough and memory does not grow with them. Magnitudes because quantisation is symmetric: zero stays zero.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/literal.h"

namespace smelt::hlo::quantize {

enum class CalibrationMethod : uint8_t {
  kMax,         // nothing that came in calibration is cut off
  kPercentile,  // the largest magnitudes are cut off, for finer steps below: where few outliers stretch the range
};

struct CalibrationOptions {
  CalibrationMethod method = CalibrationMethod::kMax;
  double percentile = 99.99;  // of the magnitudes, that stay within the range; above 0, at most 100
};

class RangeObserver {
 public:
  // An array of floats.
  void Add(const Literal& values);

  // The magnitude that the largest integer stands for; 0 where all values were zero, or none came.
  double Range(const CalibrationOptions& options) const;
  double max() const { return max_; }
  // Values that are infinite or no numbers; they are not counted otherwise.
  int64_t not_finite() const { return not_finite_; }

 private:
  void Count(double magnitude);

  std::vector<int64_t> bins_;  // of [0, bins * width)
  double width_ = 0;
  double max_ = 0;
  int64_t zeros_ = 0, counted_ = 0, not_finite_ = 0;
};

}  // namespace smelt::hlo::quantize
