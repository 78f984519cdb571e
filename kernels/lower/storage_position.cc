#include "kernels/lower/storage_position.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"

namespace smelt::kernels::lower {

using schedule::Stage;

std::vector<StorageDimension> StorageOf(const Stage& stage, const Nest& nest) {
  std::vector<StorageDimension> dimensions;
  if (stage.layout.empty()) {
    for (int d = 0; d < stage.AxisCount(); ++d) dimensions.push_back({d, 1, nest.room[d]});
    return dimensions;
  }
  absl::flat_hash_map<int, int64_t> blocks;
  for (const auto& [axis, block] : stage.layout) {
    if (block > 1) blocks[axis] = block;
    const int64_t extent = block == 1 ? nest.room[axis] : block > 1 ? CeilDiv(nest.room[axis], block) : blocks[axis];
    dimensions.push_back({axis, block, extent});
  }
  return dimensions;
}

int64_t StorageCount(const Stage& stage, const Nest& nest) {
  int64_t count = 1;
  for (const StorageDimension& dimension : StorageOf(stage, nest)) {
    if (__builtin_mul_overflow(count, dimension.extent, &count)) return INT64_MAX / 16;
  }
  return std::max<int64_t>(count, 1);
}

std::vector<Expr> StorageIndices(te::Simplifier& simplifier, const Stage& stage, const Nest* nest,
                                 const std::vector<Expr>& indices) {
  if (stage.shape.empty()) return {Expr(0)};
  std::vector<Expr> position;
  if (nest == nullptr || stage.output) {
    for (const Expr& index : indices) position.push_back(simplifier.Simplify(index));
    return position;
  }
  absl::flat_hash_map<int, int64_t> blocks;
  for (const StorageDimension& dimension : StorageOf(stage, *nest)) {
    const Expr relative = simplifier.Simplify(indices[dimension.axis] - nest->base[dimension.axis]);
    Expr coordinate = relative;
    if (dimension.block > 1) {
      blocks[dimension.axis] = dimension.block;
      coordinate = FloorDiv(relative, dimension.block);
    } else if (dimension.block == 0) {
      coordinate = FloorMod(relative, blocks[dimension.axis]);
    }
    position.push_back(simplifier.Simplify(coordinate));
  }
  return position;
}

bool StaysInside(te::Simplifier& simplifier, const Stage& stage, const Nest* nest, const std::vector<Expr>& indices) {
  for (size_t d = 0; d < indices.size(); ++d) {
    const bool relative = nest != nullptr && !stage.output;
    const Expr index = simplifier.Simplify(relative ? indices[d] - nest->base[d] : indices[d]);
    const te::Interval range = simplifier.Bounds(index);
    if (range.lo < 0 || range.hi >= (relative ? nest->room[d] : stage.shape[d])) return false;
  }
  return true;
}

absl::StatusOr<TileStrides> StridesOf(te::Simplifier& simplifier, const Stage& stage, const Nest* nest,
                                      const std::vector<Expr>& first, const te::Tensor& declared) {
  std::vector<StorageDimension> dimensions;
  if (nest == nullptr || stage.output) {
    for (size_t d = 0; d < stage.shape.size(); ++d) dimensions.push_back({static_cast<int>(d), 1, stage.shape[d]});
  } else {
    dimensions = StorageOf(stage, *nest);
  }
  const size_t rank = declared.shape().size(), leading = stage.shape.size() - rank;
  TileStrides strides{std::vector<int64_t>(rank, 1), std::vector<int64_t>(rank, 0)};
  for (size_t d = 0; d < rank; ++d) {
    const int axis = static_cast<int>(leading + d);
    // A blocked axis moves in its remainder, which is the inner of its two dimensions, and then in its quotient.
    int64_t stride = 1;
    size_t i = dimensions.size() - 1;
    for (; dimensions[i].axis != axis; --i) stride *= dimensions[i].extent;
    strides.elements[d] = stride;
    const int64_t extent = declared.shape()[d], block = dimensions[i].extent;
    if (dimensions[i].block == 1 || extent == 1) continue;
    const Expr within = simplifier.Simplify(FloorMod(first[axis] - nest->base[axis], extent <= block ? extent : block));
    int64_t offset = -1;
    if ((block % extent != 0 && extent % block != 0) || !te::IsConstInt(within, &offset) || offset != 0)
      return absl::InvalidArgumentError(absl::StrCat("stage `", stage.name, "`: its layout cuts axis ", axis,
                                                     " into blocks of ", block, ", which a tile of ", extent,
                                                     " straddles"));
    if (extent <= block) continue;
    while (dimensions[i].axis != axis || dimensions[i].block == 0) stride *= dimensions[i--].extent;
    strides.blocks[d] = stride;
  }
  return strides;
}

}  // namespace smelt::kernels::lower
