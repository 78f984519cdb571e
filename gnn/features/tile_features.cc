#include <algorithm>
#include <cmath>

#include "gnn/features/features.h"
#include "kernels/cost/analytical.h"

namespace smelt::gnn {
namespace {

constexpr int kDims = 6;

float Log1p(double x) { return static_cast<float>(std::log1p(std::max(x, 0.0))); }
float LogTime(double seconds) { return static_cast<float>(std::log(std::max(seconds, 1e-9) / 1e-7)); }

struct TileView {
  const std::vector<int64_t>& dimensions;  // of what is tiled
  const std::vector<int64_t>& extents;
  const machine::Machine& target;
  double element_bytes;
  kernels::cost::CostEstimate estimate;

  double Elements() const {
    double product = 1;
    for (int64_t e : extents) product *= e;
    return product;
  }
  double Count() const {
    double count = 1;
    for (size_t i = 0; i < extents.size(); ++i)
      count *= std::ceil(static_cast<double>(dimensions[i]) / std::max<int64_t>(extents[i], 1));
    return count;
  }
};

// `index` counts dimensions from the minor one: register tiles are made of the minor two or three.
struct TileColumn {
  Column column;
  int index;
  float (*value)(const TileView&, int index);
};

int64_t FromMinor(const std::vector<int64_t>& list, int index) {
  return index < static_cast<int>(list.size()) ? list[list.size() - 1 - static_cast<size_t>(index)] : -1;
}

float Extent(const TileView& v, int i) {
  const int64_t e = FromMinor(v.extents, i);
  return e < 0 ? -1.0f : Log1p(e);
}
float Dimension(const TileView& v, int i) {
  const int64_t d = FromMinor(v.dimensions, i);
  return d < 0 ? -1.0f : Log1p(d);
}
// Share of the last tile that is missing: what a tail wastes.
float Remainder(const TileView& v, int i) {
  const int64_t e = FromMinor(v.extents, i), d = FromMinor(v.dimensions, i);
  return e <= 0 ? 0.0f : static_cast<float>(d % e) / static_cast<float>(e);
}

std::vector<TileColumn> MakeColumns() {
  std::vector<TileColumn> columns;
  for (int i = 0; i < kDims; ++i) columns.push_back({{"tile_dim", "tile extents, minor first"}, i, Extent});
  for (int i = 0; i < kDims; ++i) columns.push_back({{"full_dim", "tiled dimensions, minor first"}, i, Dimension});
  for (int i = 0; i < kDims; ++i) columns.push_back({{"remainder", "dimension mod tile, over the tile"}, i, Remainder});
  columns.push_back({{"tile_sum", "sum of the extents"}, 0, [](const TileView& v, int) {
                       double sum = 0;
                       for (int64_t e : v.extents) sum += e;
                       return Log1p(sum);
                     }});
  columns.push_back(
      {{"tile_product", "elements of a tile"}, 0, [](const TileView& v, int) { return Log1p(v.Elements()); }});
  columns.push_back({{"tile_count", "number of tiles"}, 0, [](const TileView& v, int) { return Log1p(v.Count()); }});
  columns.push_back({{"minor_vector_remainder", "minor extent mod the vector's lanes, over the lanes"},
                     0,
                     [](const TileView& v, int) {
                       const double lanes = v.target.vector_bytes / std::max(1.0, v.element_bytes);
                       return static_cast<float>(
                           std::fmod(static_cast<double>(std::max<int64_t>(FromMinor(v.extents, 0), 0)), lanes) /
                           lanes);
                     }});
  columns.push_back({{"minor_vectors", "vectors in the minor extent"}, 0, [](const TileView& v, int) {
                       return Log1p(static_cast<double>(std::max<int64_t>(FromMinor(v.extents, 0), 0)) *
                                    v.element_bytes / v.target.vector_bytes);
                     }});
  columns.push_back({{"minor_mod_128", "minor extent mod 128, over 128"}, 0, [](const TileView& v, int) {
                       return static_cast<float>(std::max<int64_t>(FromMinor(v.extents, 0), 0) % 128) / 128.0f;
                     }});
  columns.push_back({{"bytes_over_l1", "bytes of a tile over the first-level cache"}, 0, [](const TileView& v, int) {
                       return Log1p(v.Elements() * v.element_bytes / static_cast<double>(v.target.LevelBytes(0)));
                     }});
  columns.push_back({{"bytes_over_l2", "bytes of a tile over the second-level cache"}, 0, [](const TileView& v, int) {
                       return Log1p(v.Elements() * v.element_bytes / static_cast<double>(v.target.LevelBytes(1)));
                     }});
  columns.push_back({{"tiles_a_thread", "tiles over workers"}, 0, [](const TileView& v, int) {
                       return Log1p(v.Count() / v.target.threads);
                     }});
  columns.push_back({{"estimate", "log of the analytical model's seconds with this tile"},
                     0,
                     [](const TileView& v, int) { return LogTime(v.estimate.seconds()); }});
  columns.push_back({{"estimate_compute", "log of its compute seconds"}, 0, [](const TileView& v, int) {
                       return LogTime(v.estimate.compute_seconds);
                     }});
  columns.push_back({{"estimate_memory", "log of its memory seconds"}, 0, [](const TileView& v, int) {
                       return LogTime(v.estimate.memory_seconds);
                     }});
  return columns;
}

const std::vector<TileColumn>& Table() {
  static const auto& table = *new std::vector<TileColumn>(MakeColumns());
  return table;
}

}  // namespace

const std::vector<Column>& TileColumns() {
  static const auto& columns = *[] {
    auto* list = new std::vector<Column>();
    for (const TileColumn& column : Table()) list->push_back(column.column);
    return list;
  }();
  return columns;
}

std::vector<float> TileFeatures(const hlo::Computation& kernel, absl::Span<const kernels::nests::Tile> tiles,
                                const machine::Machine& target) {
  const absl::StatusOr<std::vector<int64_t>> tiled = kernels::nests::TiledDimensions(kernel);
  const hlo::Shape* root = &kernel.root()->shape();
  while (root->IsTuple() && !root->tuple_shapes.empty()) root = &root->tuple_shapes[0];
  const double element_bytes = static_cast<double>(std::max<int64_t>(hlo::StorageBytes(root->element_type), 1));
  std::vector<float> rows;
  rows.reserve(tiles.size() * Table().size());
  for (const kernels::nests::Tile& tile : tiles) {
    // A kernel without tiled dimensions has only the default tile; a tile of another rank is seen with its own extents
    // as dimensions.
    const std::vector<int64_t>& dimensions = tiled.ok() && tiled->size() == tile.extents.size() ? *tiled : tile.extents;
    const absl::StatusOr<kernels::cost::CostEstimate> estimate = kernels::cost::EstimateTile(kernel, tile, target);
    const TileView view{dimensions, tile.extents, target, element_bytes,
                        estimate.ok() ? *estimate : kernels::cost::EstimateKernel(kernel, target)};
    for (const TileColumn& column : Table()) rows.push_back(column.value(view, column.index));
  }
  return rows;
}

}  // namespace smelt::gnn
