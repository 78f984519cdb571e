#include "gnn/ranking.h"

#include <algorithm>

#include "hlo/status_macros.h"

namespace smelt::gnn {

absl::StatusOr<TileRanking> RankTiles(Predictor& predictor, const fusion::Kernel& kernel, const kernels::Target& target,
                                      int64_t limit) {
  SMELT_ASSIGN_OR_RETURN(std::vector<kernels::space::Tile> tiles,
                         kernels::space::EnumerateTiles(kernel.computation(), target, limit));
  SMELT_ASSIGN_OR_RETURN(const std::vector<double> scores, predictor.ScoreTiles(kernel, tiles));
  TileRanking ranking{{}, tiles.front()};
  for (size_t i = 0; i < tiles.size(); ++i) ranking.best.push_back({std::move(tiles[i]), scores[i]});
  std::stable_sort(ranking.best.begin(), ranking.best.end(),
                   [](const RankedTile& a, const RankedTile& b) { return a.score < b.score; });
  return ranking;
}

}  // namespace smelt::gnn
