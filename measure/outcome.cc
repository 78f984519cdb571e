#include "measure/outcome.h"

#include <algorithm>
#include <limits>

namespace smelt::measure {

std::string_view FailureName(Failure failure) {
  static constexpr std::string_view kNames[] = {
      "ok",           "build failed",   "build timed out", "run crashed", "run timed out",
      "wrong answer", "resource limit", "no result"};
  return kNames[static_cast<int>(failure)];
}

bool IsLasting(Failure failure) { return failure != Failure::kResourceLimit && failure != Failure::kEnvironment; }

double Outcome::best() const {
  return seconds.empty() ? std::numeric_limits<double>::infinity() : *std::min_element(seconds.begin(), seconds.end());
}

double Median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::infinity();
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double Outcome::median() const { return Median(seconds); }

double Outcome::relative() const {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(seconds.size(), reference_seconds.size()); ++i)
    ratios.push_back(seconds[i] / reference_seconds[i]);
  return Median(std::move(ratios));
}

}  // namespace smelt::measure
