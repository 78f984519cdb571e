#include "tuner/spell_watch.h"

#include <algorithm>
#include <cmath>

namespace smelt::tuner {

void SpellWatch::Add(double seconds) {
  in_order_.push_back(seconds);
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), seconds), seconds);
}

double SpellWatch::usual() const { return sorted_.empty() ? 0 : sorted_[(sorted_.size() - 1) / 10]; }

double SpellWatch::Drift() const {
  if (in_order_.size() < kLeast) return 0;
  double furthest = 0;
  for (const double seconds : Around()) {
    const double drift = seconds / usual() - 1;
    if (std::fabs(drift) > std::fabs(furthest)) furthest = drift;
  }
  return furthest;
}

std::vector<double> SpellWatch::Around() const {
  return {in_order_.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(in_order_.size(), 2)), in_order_.end()};
}

}  // namespace smelt::tuner
