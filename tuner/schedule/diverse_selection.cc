#include "tuner/schedule/diverse_selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace smelt::tuner {
namespace {

double ScoreDeviation(absl::Span<const RankedConfig> ranked) {
  double sum = 0, squares = 0;
  for (const RankedConfig& one : ranked) {
    sum += one.score;
    squares += one.score * one.score;
  }
  const double count = static_cast<double>(ranked.size());
  return std::sqrt(std::max(0.0, squares / count - (sum / count) * (sum / count)));
}

}  // namespace

std::vector<size_t> SelectDiverse(absl::Span<const RankedConfig> ranked, size_t count,
                                  const SelectionOptions& options) {
  const double looked_at = std::ceil(std::max(1.0, options.lambda) * static_cast<double>(count));
  ranked = ranked.subspan(0, std::min(ranked.size(), static_cast<size_t>(looked_at)));
  if (ranked.empty()) return {};
  const double worth = options.alpha * std::max(ScoreDeviation(ranked), 1e-12);
  absl::flat_hash_set<std::pair<size_t, int>> covered;  // values of knobs
  std::vector<bool> taken(ranked.size(), false);
  std::vector<size_t> chosen;
  while (chosen.size() < std::min(count, ranked.size())) {
    size_t best = ranked.size();
    double best_gain = 0;
    for (size_t i = 0; i < ranked.size(); ++i) {
      if (taken[i]) continue;
      const std::vector<int>& values = ranked[i].config.values();
      double gain = ranked[i].score;
      for (size_t knob = 0; knob < values.size(); ++knob) gain += worth * !covered.contains({knob, values[knob]});
      if (best < ranked.size() && gain <= best_gain) continue;
      best = i;
      best_gain = gain;
    }
    taken[best] = true;
    chosen.push_back(best);
    const std::vector<int>& values = ranked[best].config.values();
    for (size_t knob = 0; knob < values.size(); ++knob) covered.insert({knob, values[knob]});
  }
  return chosen;
}

}  // namespace smelt::tuner
