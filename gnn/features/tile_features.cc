#include <algorithm>
#include <vector>

#include "gnn/features/features.h"
#include "gnn/features/tile_rows.h"

namespace smelt::gnn {
namespace {

// The columns in the order in which tile_rows.cc fills them. Those of one dimension count from the minor one: register
// tiles are made of the minor two or three.
struct Group {
  Column column;
  int width;
};
constexpr Group kGroups[] = {
    {{"tile_dim", "tile extents, minor first"}, 6},
    {{"full_dim", "tiled dimensions, minor first"}, 6},
    {{"remainder", "dimension mod tile, over the tile"}, 6},
    {{"tile_sum", "sum of the extents"}, 1},
    {{"tile_product", "elements of a tile"}, 1},
    {{"tile_count", "number of tiles"}, 1},
    {{"minor_vector_remainder", "minor extent mod the vector's lanes, over the lanes"}, 1},
    {{"minor_vectors", "vectors in the minor extent"}, 1},
    {{"minor_mod_128", "minor extent mod 128, over 128"}, 1},
    {{"bytes_over_l1", "bytes of a tile over the first-level cache"}, 1},
    {{"bytes_over_l2", "bytes of a tile over the second-level cache"}, 1},
    {{"tiles_a_thread", "tiles over workers"}, 1},
    {{"estimate", "log of the analytical model's seconds with this tile"}, 1},
    {{"estimate_compute", "log of its compute seconds"}, 1},
    {{"estimate_memory", "log of its memory seconds"}, 1},
    {{"run", "elements of a tile that lie one behind the other"}, 1},
    {{"run_lanes", "share of the lanes that vectors over them use"}, 1},
    {{"over_preferred", "extents over those of the tile that the compiler looks at first, minor first"}, 6},
    {{"from_preferred", "how far it is from that tile"}, 1},
};

}  // namespace

const std::vector<Column>& TileColumns() {
  static const auto& columns = *[] {
    auto* list = new std::vector<Column>();
    for (const Group& group : kGroups) list->insert(list->end(), group.width, group.column);
    return list;
  }();
  return columns;
}

std::vector<float> TileFeatures(const hlo::Computation& kernel, absl::Span<const kernels::nests::Tile> tiles,
                                const machine::Machine& target) {
  const TileRows of_kernel(kernel, target);
  const size_t width = TileColumns().size();
  std::vector<float> rows(tiles.size() * width), block(width * TileRows::kBlock);
  std::vector<int64_t> extents;
  for (size_t begin = 0; begin < tiles.size();) {
    // Tiles of one rank go together.
    const size_t rank = tiles[begin].extents.size();
    extents.clear();
    size_t end = begin;
    while (end < tiles.size() && end < begin + TileRows::kBlock && tiles[end].extents.size() == rank) {
      for (const int64_t extent : tiles[end].extents) extents.push_back(std::max<int64_t>(extent, 1));
      ++end;
    }
    // A kernel without tiled dimensions has only the default tile; a tile of another rank is seen with its own extents
    // as dimensions.
    const bool fits = of_kernel.has_tiles() && of_kernel.dimensions().size() == rank;
    if (!fits) end = begin + 1;
    const int count = static_cast<int>(end - begin);
    if (fits) {
      of_kernel.FillBlock(extents.data(), count, block.data());
    } else {
      extents.resize(std::min<size_t>(rank, TileRows::kMostRank));
      of_kernel.WithoutTiles(extents).FillBlock(extents.data(), count, block.data());
    }
    for (int i = 0; i < count; ++i) {
      for (size_t c = 0; c < width; ++c) rows[(begin + i) * width + c] = block[c * TileRows::kBlock + i];
    }
    begin = end;
  }
  return rows;
}

}  // namespace smelt::gnn
