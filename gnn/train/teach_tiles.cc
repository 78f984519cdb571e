#include "gnn/train/teach_tiles.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gnn/features/log_time.h"

namespace smelt::gnn {

absl::StatusOr<int64_t> TeachTiles(const Contender& teacher, const std::vector<int64_t>& examples, Dataset* data) {
  if (!teacher.tile_scores) return 0;
  int64_t taught = 0;
  for (const int64_t i : examples) {
    Example& example = data->examples[i];
    if (example.tile_analytical.empty() || !example.tile_seconds.empty()) continue;
    SMELT_ASSIGN_OR_RETURN(const std::vector<double> scores, teacher.tile_scores(example));
    // Scores have no zero, and times are cut off at the least.
    const double least = *std::min_element(scores.begin(), scores.end());
    for (const double score : scores) example.tile_seconds.push_back(SecondsOfLogTime(score - least));
    ++taught;
  }
  return taught;
}

}  // namespace smelt::gnn
