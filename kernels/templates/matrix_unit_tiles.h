// How contractions fall into tiles of a matrix unit (dot_instruction.h).
//
//   int64_t rows = TileRowsOf(33, 16);   // 11: three tiles without a row too many
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/templates/dot_instruction.h"

namespace smelt::kernels::nests {

// Rows of each tile, where as few tiles as possible are nearly equal.
int64_t TileRowsOf(int64_t extent, int64_t most);

// Blocks of tiles that are summed up at once, as tiles of the main operation; best first.
std::vector<std::vector<int64_t>> MatrixUnitTiles(const te::Operation& main, const DotForm& form);

}  // namespace smelt::kernels::nests
