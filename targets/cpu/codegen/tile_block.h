// Runs of statements whose sums can stay in the registers of a matrix unit (te::TileDotIntrinsic).
//
// `tile_zero(acc[0]); tile_zero(acc[16]);` and then, for each k, `tile_dot(acc[0], x[64 * k], w[1024 * k]);
// tile_dot(acc[16], x[64 * k], w[1024 * (k + 8)]);`
// is one run with two sums: both are in registers from the first statement to the last, and are stored once.
#pragma once

#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ir/stmt.h"

namespace smelt::cpu::codegen {

// Sums of one run at most; the other registers are for its operands.
inline constexpr size_t kTileSums = 4;

struct TileSum {
  kernels::te::Expr address;
  int64_t stride;  // elements from one row to the next
  int64_t rows;
  bool begins_at_zero;  // whatever its memory holds
};

struct TileRun {
  size_t count = 0;  // statements, from the first one; 0: it is none of tiles
  std::vector<TileSum> sums;
};

// The longest run at the beginning of `stmts`: tile calls and loops of them, in which no sum moves or meets another.
// Linear in the run.
TileRun FindTileRun(absl::Span<const kernels::ir::Stmt> stmts);

// Whether the intrinsic of this name works on tiles.
bool IsTileCall(std::string_view name);

// The numbers of rows that tiles of the body have, each once.
std::vector<int64_t> TileRowsIn(const kernels::ir::Stmt& body);

}  // namespace smelt::cpu::codegen
