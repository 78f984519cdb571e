// Output tiles of a kernel: the sizes in which its main output may be computed, each mapping to a complete schedule.
//
//   std::vector<Tile> tiles = EnumerateTiles(computation, target, 1000).value();
//   schedule::Schedule s = ScheduleForTile(computation, tiles[3], target).value();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// Extents of the tile over the dimensions of the kernel's main operation's output (see schedule templates: the
// contraction or reduction that dominates, or the root), outer first. For contractions the register tile follows from
// it. Every extent is at least 1 and at most the dimension.
struct Tile {
  std::vector<int64_t> extents;
  bool operator==(const Tile&) const = default;
  std::string ToString() const;  // "1x14x14x32"
  static absl::StatusOr<Tile> Parse(std::string_view text);
};

// The kernel's dimensions that a tile divides: Tile::extents has as many entries.
absl::StatusOr<std::vector<int64_t>> TiledDimensions(const hlo::Computation& kernel);

// Valid tiles: operands and scratch of one tile fit the target's L2. At least one, at most `limit`, spread evenly over
// the space when there are more; deterministic. Those that suit the kernel's loops (PreferredTiles) come first, the
// best of them at the front. The compiler's default is one of these, nearly always the front one
// (targets/cpu/compile/compile.h).
absl::StatusOr<std::vector<Tile>> EnumerateTiles(const hlo::Computation& kernel, const machine::Machine& target,
                                                 int64_t limit);

absl::StatusOr<schedule::Schedule> ScheduleForTile(const hlo::Computation& kernel, const Tile& tile,
                                                   const machine::Machine& target);

}  // namespace smelt::kernels::nests
