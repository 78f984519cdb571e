#include "tuner/schedule/final_race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "measure/comparison.h"

namespace smelt::tuner {

std::vector<size_t> Finalists(absl::Span<const double> relative, const RaceOptions& options) {
  std::vector<size_t> order(relative.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return relative[a] < relative[b]; });
  size_t count = 0;
  while (count < std::min(order.size(), options.most) && std::isfinite(relative[order[count]])) ++count;
  order.resize(count);
  return order;
}

size_t RaceWinner(measure::Runner& runner, const measure::Candidate& usual,
                  absl::Span<const measure::Candidate> candidates, const RaceOptions& options) {
  if (candidates.size() < 2) return 0;
  std::vector<measure::Candidate> all{usual};
  all.insert(all.end(), candidates.begin(), candidates.end());
  std::vector<std::vector<std::vector<double>>> rounds(all.size());  // of each one, by child
  for (int child = 0; child < options.children && !runner.out_of_time(); ++child) {
    const std::vector<measure::Outcome> outcomes = runner.TimePrograms(all, options.rounds, options.seconds);
    if (!outcomes[0].ok()) continue;
    for (size_t i = 0; i < all.size(); ++i)
      rounds[i].push_back(outcomes[i].ok() ? outcomes[i].seconds : std::vector<double>());
  }
  size_t best = 0;
  double most = -std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < all.size(); ++i) {
    const bool failed =
        std::any_of(rounds[i].begin(), rounds[i].end(), [](const auto& child) { return child.empty(); });
    if (failed || rounds[i].empty()) continue;
    const double gain = measure::CompareRounds(rounds[0], rounds[i], /*exact=*/false, /*least=*/true).gain;
    if (gain <= most) continue;
    most = gain;
    best = i - 1;
  }
  return best;
}

}  // namespace smelt::tuner
