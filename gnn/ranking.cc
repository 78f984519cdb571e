#include "gnn/ranking.h"

#include <algorithm>

#include "base/status_macros.h"

namespace smelt::gnn {

absl::StatusOr<TileRanking> RankTiles(Predictor& predictor, const fusion::Kernel& kernel,
                                      const machine::Machine& target, int64_t limit) {
  SMELT_ASSIGN_OR_RETURN(std::vector<kernels::nests::Tile> tiles,
                         kernels::nests::EnumerateTiles(kernel.computation(), target, limit));
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> scores, predictor.ScoreTiles(kernel, tiles));
  TileRanking ranking{{}, tiles.front()};
  for (size_t i = 0; i < tiles.size(); ++i) ranking.best.push_back({std::move(tiles[i]), scores[i]});
  std::stable_sort(ranking.best.begin(), ranking.best.end(),
                   [](const RankedTile& a, const RankedTile& b) { return a.score < b.score; });
  return ranking;
}

}  // namespace smelt::gnn
