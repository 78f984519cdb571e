// The columns of many tiles of one kernel, several tiles at a time in the lanes of vectors. What the kernel is was
// looked at once.
//
//   TileRows rows(computation, target);
//   std::vector<float> columns(39 * TileRows::kBlock);   // as many as TileColumns() lists
//   int64_t extents[] = {1, 8, 32, 1, 16, 32};   // two tiles
//   rows.FillBlock(extents, 2, columns.data());
//
// Immutable and thread-safe; FillBlock allocates nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "hlo/computation.h"
#include "kernels/cost/cost_formula.h"
#include "machine/machine.h"

namespace smelt::gnn {

class TileRows {
 public:
  static constexpr int kBlock = 64;     // tiles of a block
  static constexpr int kMostRank = 16;  // kernels with more dimensions count as kernels without tiles

  TileRows(const hlo::Computation& kernel, const machine::Machine& target);

  bool has_tiles() const { return has_tiles_; }
  // What a tile divides, outer first; empty as well where there are no tiles.
  const std::vector<int64_t>& dimensions() const { return formula_.dimensions; }
  const kernels::cost::CostFormula& formula() const { return formula_; }

  // Column c of tile i goes to columns[c * kBlock + i]. `extents`: `count` tiles, from 1 to kBlock, of as many extents
  // as there are dimensions, each at least 1. Entries beyond `count` repeat the last tile.
  void FillBlock(const int64_t* extents, int count, float* columns) const;
  // Analytical seconds of the same tiles.
  void Estimate(const int64_t* extents, int count, float* seconds) const;

  // The same rows for tiles of other ranks than the kernel has: their own extents are the dimensions, and the estimate
  // is the kernel's.
  TileRows WithoutTiles(const std::vector<int64_t>& dimensions) const;

 private:
  kernels::cost::CostFormula formula_;
  bool has_tiles_ = false;
  std::vector<double> preferred_;  // log1p of the extents of the compiler's own tile; empty: none
  double whole_compute_ = 0, whole_memory_ = 0, whole_seconds_ = 0;
  double element_bytes_ = 4, vector_bytes_ = 64, l1_bytes_ = 1, l2_bytes_ = 1, threads_ = 1;
};

}  // namespace smelt::gnn
