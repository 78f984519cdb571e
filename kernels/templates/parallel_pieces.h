// How the tiles of a nest are shared out: the loops over tiles become one parallel loop, so that threads that no single
// axis can feed still get equal work.
//
//   std::vector<TileLoop> loops = {{0, 56, 1, "i1"}, {1, 64, 32, "i3.outer"}};
//   double share = PieceBalance(loops, /*threads=*/8);   // 112 pieces, 14 a thread: 1
//
// A worker takes consecutive iterations (runtime/thread_pool.h), so neighbours in the fused loop share what is near.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ceil_div.h"
#include "kernels/schedule/schedule.h"

namespace smelt::kernels::nests {

// A loop over the tiles of one axis.
struct TileLoop {
  int axis = -1;
  int64_t extent = 1;  // of the axis
  int64_t tile = 1;    // elements of one iteration
  std::string loop;    // its name, where there is a schedule already

  int64_t count() const { return CeilDiv(extent, tile); }
  bool even() const { return extent % tile == 0; }  // no iteration is cut short
};

// Moves the loops that one parallel loop can walk over to the front and returns how many those are. A cut tile is known
// where lowering splits the parallel loop only if its loop is the outermost of the fused ones, so the uneven
// loop with the most iterations goes there; further ones stay serial, behind, as do loops of one iteration.
size_t FusibleLoops(std::vector<TileLoop>& loops);

// Ideal time over that of the thread with the most work, when the iterations of the fused loops go to threads in equal
// consecutive runs: 1 is perfect, 1 / threads no parallelism at all.
double PieceBalance(std::vector<TileLoop> loops, int threads);

// The least share that default schedules are content with.
inline constexpr double kBalanced = 0.95;

// Fuses outermost loops of the stage, which stand in this order, into one, and marks it parallel: all of them, or with
// one thread only the first of several iterations, which moves to the front. Returns the names of the loops that are
// left, outer first. Nothing may be computed at them yet. `work` as Nest::Work; too little of it stays serial.
absl::StatusOr<std::vector<std::string>> ParallelizePieces(schedule::Schedule& schedule, const std::string& stage,
                                                           std::vector<TileLoop> loops, int threads, double work);

}  // namespace smelt::kernels::nests
