#include "kernels/templates/matrix_unit_tiles.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/ceil_div.h"

namespace smelt::kernels::nests {
namespace {

// Tiles of rows and of columns that are summed up at once, best first: every step loads a tile for each row and each
// column of the block, and multiplies all of them. Loads of a row of a tile and products by it take a cycle each.
std::vector<std::pair<int64_t, int64_t>> TileBlocks(const DotForm& form, int64_t row_tiles, int64_t column_tiles) {
  const int64_t most = form.instruction->accumulators, lanes = form.instruction->lanes;
  std::vector<std::tuple<int64_t, int64_t, int64_t>> blocks;  // cycles, rows, columns
  for (int64_t columns = 1; columns <= std::min(most, column_tiles); ++columns) {
    for (int64_t rows = 1; rows * columns <= most && rows <= row_tiles; ++rows) {
      const int64_t count = CeilDiv(row_tiles, rows) * CeilDiv(column_tiles, columns);
      const int64_t loads = rows * form.rows + columns * lanes, products = rows * columns * form.rows;
      blocks.emplace_back(count * std::max(loads, products), rows, columns);
    }
  }
  std::sort(blocks.begin(), blocks.end());
  std::vector<std::pair<int64_t, int64_t>> order;
  for (const auto& [cycles, rows, columns] : blocks) order.emplace_back(rows, columns);
  return order;
}

}  // namespace

int64_t TileRowsOf(int64_t extent, int64_t most) {
  const int64_t tiles = CeilDiv(extent, most);
  return CeilDiv(extent, tiles);
}

std::vector<std::vector<int64_t>> MatrixUnitTiles(const te::Operation& main, const DotForm& form) {
  const int64_t columns = main.axes.back().extent, lanes = form.instruction->lanes;
  const int64_t row_tiles = form.line_axis < 0 ? (main.axes[form.row_axis].extent + form.rows - 1) / form.rows
                                               : main.axes[form.line_axis].extent;
  std::vector<std::vector<int64_t>> tiles;
  constexpr size_t kMostTiles = 3;
  for (const auto& [row_count, column_count] : TileBlocks(form, row_tiles, CeilDiv(columns, lanes))) {
    std::vector<int64_t> tile(main.axes.size(), 1);
    tile.back() = std::min(columns, column_count * lanes);
    tile[form.row_axis] = form.rows;
    if (form.line_axis >= 0) {
      tile[form.line_axis] = row_count;
    } else {
      tile[form.row_axis] = std::min(main.axes[form.row_axis].extent, row_count * form.rows);
    }
    tiles.push_back(std::move(tile));
    if (tiles.size() == kMostTiles) break;
  }
  return tiles;
}

}  // namespace smelt::kernels::nests
