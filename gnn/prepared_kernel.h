// A kernel looked at once, for the scores of many tiles: what a compiler pass holds while it chooses among its own.
//
//   std::unique_ptr<PreparedKernel> prepared = predictor.Prepare(computation).value();
//   int64_t tiles[] = {1, 8, 32, 1, 16, 32};      // two, for a kernel of three dimensions
//   float scores[2];
//   int64_t misfits = prepared->Score(tiles, 2, scores);
//
// Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::gnn {

class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;

  // Whether a tile divides it.
  virtual bool has_tiles() const = 0;
  // What a tile divides, outer first: a tile has as many extents. Empty as well where the result is a scalar.
  virtual const std::vector<int64_t>& dimensions() const = 0;

  // Scores of `count` tiles, whose extents lie one behind the other; lower is better, comparable within one kernel
  // only. A tile with an extent below 1 or above its dimension scores infinity; returns how many do. Allocates nothing
  // but in a thread's first call.
  virtual int64_t Score(const int64_t* extents, int64_t count, float* scores) const = 0;
};

}  // namespace smelt::gnn
