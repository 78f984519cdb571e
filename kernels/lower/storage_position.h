// Where the elements of a stage lie in its buffer: dimensions by its layout, indices relative to the region that is
// kept.
//
//   const schedule::Stage& stage = schedule.state().stages[0];
//   te::Simplifier simplifier;
//   std::vector<Expr> position = StorageIndices(simplifier, stage, nullptr, {i, j});      // of an input: i, j
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/lower/nest.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

// A dimension of the storage, by Schedule::TransformLayout.
struct StorageDimension {
  int axis;
  int64_t block;  // 1: whole axis; > 1: quotient; 0: remainder
  int64_t extent;
};
// Outer first. `nest` is the stage's own.
std::vector<StorageDimension> StorageOf(const schedule::Stage& stage, const Nest& nest);
// Elements; at least 1.
int64_t StorageCount(const schedule::Stage& stage, const Nest& nest);

// Position of the element with these global indices, by the dimensions of the buffer. `nest` is null for inputs.
std::vector<Expr> StorageIndices(te::Simplifier& simplifier, const schedule::Stage& stage, const Nest* nest,
                                 const std::vector<Expr>& indices);

// Whether every dimension of a read is known to stay in what is stored.
bool StaysInside(te::Simplifier& simplifier, const schedule::Stage& stage, const Nest* nest,
                 const std::vector<Expr>& indices);

// Elements between neighbours of a tile along each of its dimensions, and where it spans blocks of a layout from block
// to block (else 0).
struct TileStrides {
  std::vector<int64_t> elements;
  std::vector<int64_t> blocks;
};

// Those of the tile that begins at these global indices and has the shape of the declared operand, whose dimensions are
// the last ones of the stage. InvalidArgument: a tile that is neither within a block of a layout nor made of whole
// ones.
absl::StatusOr<TileStrides> StridesOf(te::Simplifier& simplifier, const schedule::Stage& stage, const Nest* nest,
                                      const std::vector<Expr>& first, const te::Tensor& declared);

}  // namespace smelt::kernels::lower
