#include "hlo/quantize/calibration.h"

#include <cmath>

namespace smelt::hlo::quantize {
namespace {

constexpr int64_t kBins = 4096;  // even: two become one when the range doubles

}  // namespace

void RangeObserver::Add(const Literal& values) {
  const int64_t count = values.element_count();
  if (values.shape().element_type == PrimitiveType::kF32) {
    for (const float value : values.data<float>()) Count(std::fabs(value));
    return;
  }
  for (int64_t i = 0; i < count; ++i) Count(std::fabs(values.GetDouble(i)));
}

void RangeObserver::Count(double magnitude) {
  if (!std::isfinite(magnitude)) {
    ++not_finite_;
    return;
  }
  ++counted_;
  if (magnitude == 0) {
    ++zeros_;
    return;
  }
  if (magnitude > max_) max_ = magnitude;
  if (bins_.empty()) {
    bins_.assign(kBins, 0);
    width_ = 2 * magnitude / kBins;
  }
  while (magnitude >= width_ * kBins) {
    for (int64_t i = 0; i < kBins / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
    for (int64_t i = kBins / 2; i < kBins; ++i) bins_[i] = 0;
    width_ *= 2;
  }
  ++bins_[static_cast<int64_t>(magnitude / width_)];
}

double RangeObserver::Range(const CalibrationOptions& options) const {
  if (options.method == CalibrationMethod::kMax || options.percentile >= 100 || max_ == 0) return max_;
  const double wanted = options.percentile / 100 * static_cast<double>(counted_);
  double below = static_cast<double>(zeros_);
  for (int64_t i = 0; i < kBins; ++i) {
    below += static_cast<double>(bins_[i]);
    if (below >= wanted && below > static_cast<double>(zeros_))
      return std::min(max_, width_ * static_cast<double>(i + 1));
  }
  return max_;
}

}  // namespace smelt::hlo::quantize
