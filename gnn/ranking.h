// Tiles of a kernel in the order in which a model would try them.
//
//   TileRanking ranking = RankTiles(predictor, kernel, target, 1000).value();
//   ranking.best.front().tile    // the first choice of the model
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "gnn/predictor.h"
#include "kernels/tiles/tiles.h"
#include "machine/machine.h"

namespace smelt::gnn {

struct RankedTile {
  kernels::nests::Tile tile;
  double score = 0;  // lower is better; comparable within one kernel only
};

struct TileRanking {
  std::vector<RankedTile> best;    // first the best; equal scores in the order of EnumerateTiles
  kernels::nests::Tile preferred;  // the front one of EnumerateTiles: what the compiler tries first
};

// At most `limit` tiles. Unimplemented: the kernel has no loop nest, so that it has no tiles.
absl::StatusOr<TileRanking> RankTiles(Predictor& predictor, const fusion::Kernel& kernel,
                                      const machine::Machine& target, int64_t limit);

}  // namespace smelt::gnn
