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
#include "kernels/te/hlo/algorithm.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// Extents of the tile over the dimensions of the kernel's main operation's output (see schedule templates: the
// contraction or reduction that dominates, or the root), outer first. For contractions the register tile follows from
// it. Every extent is at least 1 and at most the dimension.
//
// Under Winograd's algorithms the extents are images, rows and columns of transformed tiles, and output features: a
// piece of work of one thread (templates/winograd.h). Without extents it is the piece that the analytical estimate
// prefers.
struct Tile {
  std::vector<int64_t> extents;
  te::ConvolutionAlgorithm algorithm = te::ConvolutionAlgorithm::kDirect;
  bool operator==(const Tile&) const = default;
  // "1x14x14x32", "scalar" without dimensions; "winograd4:1x2x14x64", "winograd4" without extents
  std::string ToString() const;
  static absl::StatusOr<Tile> Parse(std::string_view text);
};

// The kernel's dimensions that a tile divides: Tile::extents has as many entries.
absl::StatusOr<std::vector<int64_t>> TiledDimensions(const hlo::Computation& kernel);
// The same with the tile that the compiler looks at first: the front one of EnumerateTiles.
struct TiledKernel {
  std::vector<int64_t> dimensions;
  std::vector<int64_t> preferred;
};
absl::StatusOr<TiledKernel> TiledKernelOf(const hlo::Computation& kernel, const machine::Machine& target);

// Valid tiles: operands and scratch of one tile fit the target's L2. At least one, at most `limit`, spread evenly over
// the space when there are more; deterministic. All of the direct algorithm. Those that suit the kernel's loops
// (PreferredTiles) come first, the best of them at the front. The compiler's default is one of these, nearly always the
// front one (targets/cpu/compile/compile.h).
absl::StatusOr<std::vector<Tile>> EnumerateTiles(const hlo::Computation& kernel, const machine::Machine& target,
                                                 int64_t limit);

// The schedule of the tile that the compiler looks at first.
absl::StatusOr<schedule::Schedule> PreferredSchedule(const hlo::Computation& kernel, const machine::Machine& target);

// What a result computed so may differ by, over what one of the direct sum may: declared, not measured. 1, or 4 under
// Winograd's algorithms.
double ErrorFactor(const Tile& tile);

// The ways beside direct tiles in which the kernel can be computed: "winograd2" and "winograd4" as far as they apply to
// it, without extents. Whether one pays is for measuring to say.
std::vector<Tile> OtherAlgorithms(const hlo::Computation& kernel);

// Errors: InvalidArgument naming what stands against the tile, or its algorithm.
absl::StatusOr<schedule::Schedule> ScheduleForTile(const hlo::Computation& kernel, const Tile& tile,
                                                   const machine::Machine& target);

}  // namespace smelt::kernels::nests
