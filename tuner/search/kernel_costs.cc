#include "tuner/search/kernel_costs.h"

#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "measure/outcome.h"

namespace smelt::tuner {

std::optional<double> KernelCosts::Find(const Hash128& hash) const {
  const double extra = extra_ ? extra_(hash) : 0;
  if (auto it = measured_.find(hash); it != measured_.end()) return it->second + extra;
  const std::optional<double> predicted = predictor_.Known(hash);
  if (!predicted) return std::nullopt;
  return *predicted * scale_ + extra;
}

absl::Status KernelCosts::Predict(absl::Span<const fusion::Kernel* const> kernels) {
  return predictor_.PredictSeconds(kernels).status();
}

void KernelCosts::AddMeasured(const Hash128& hash, double seconds) {
  auto [it, added] = measured_.emplace(hash, seconds);
  if (!added) it->second = std::min(it->second, seconds);
  std::vector<double> ratios;
  for (const auto& [measured_hash, measured_seconds] : measured_) {
    const std::optional<double> predicted = predictor_.Known(measured_hash);
    if (predicted && *predicted > 0) ratios.push_back(measured_seconds / *predicted);
  }
  if (!ratios.empty()) scale_ = std::clamp(measure::Median(std::move(ratios)), 0.1, 10.0);
}

double KernelCosts::Sum(absl::Span<const WeightedKernel> kernels, int64_t* unmeasured) const {
  double sum = 0;
  for (const WeightedKernel& kernel : kernels) {
    sum += Find(kernel.hash).value_or(0) * kernel.executions;
    if (unmeasured != nullptr) *unmeasured += !measured_.contains(kernel.hash);
  }
  return sum;
}

}  // namespace smelt::tuner
