#include "tuner/measure/outcome.h"

#include <algorithm>
#include <limits>

namespace smelt::tuner {

std::string_view FailureName(Failure failure) {
  static constexpr std::string_view kNames[] = {
      "ok", "build failed", "build timed out", "run crashed", "run timed out", "wrong answer", "resource limit"};
  return kNames[static_cast<int>(failure)];
}

double Outcome::best() const {
  return seconds.empty() ? std::numeric_limits<double>::infinity() : *std::min_element(seconds.begin(), seconds.end());
}

double Outcome::median() const {
  if (seconds.empty()) return std::numeric_limits<double>::infinity();
  std::vector<double> sorted = seconds;
  std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
  return sorted[sorted.size() / 2];
}

}  // namespace smelt::tuner
