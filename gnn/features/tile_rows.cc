#include "gnn/features/tile_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "gnn/features/lanes.h"
#include "gnn/features/log_time.h"
#include "gnn/features/vector_versions.h"
#include "kernels/cost/analytical.h"
#include "kernels/tiles/tiles.h"

namespace smelt::gnn {
namespace {

using kernels::cost::CeilOf;
using kernels::cost::EstimateOf;
using kernels::cost::MostOf;

constexpr int kDims = 6;

SMELT_LANES_INLINE Doubles Log1pOf(const Doubles& x) { return LogOf(x + 1.0); }
// LogTime of eight times.
SMELT_LANES_INLINE Doubles LogTimeOf(const Doubles& seconds) {
  const Doubles least = Doubles{} + kLeastSeconds;
  return LogOf(MostOf(seconds, least) * (1 / kLogTimeUnit));
}

// What the columns of a block follow from.
struct Facts {
  const kernels::cost::CostFormula& formula;
  const std::vector<double>& preferred;  // log1p of its extents
  bool has_tiles;
  double whole_compute, whole_memory, whole_seconds;
  double element_bytes, vector_bytes, l1_bytes, l2_bytes, threads;
};

// Extents of the eight tiles from the `first` on; beyond the last it is the last again.
SMELT_LANES_INLINE void Load(const int64_t* extents, int64_t rank, int first, int count, Doubles* out) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const int64_t* tile = extents + std::min(first + lane, count - 1) * rank;
    for (int64_t d = 0; d < rank; ++d) out[d][lane] = static_cast<double>(tile[d]);
  }
}

SMELT_LANES_INLINE EstimateOf<Doubles> EstimateLanes(const Facts& f, const Doubles* extents, int64_t rank) {
  if (f.has_tiles) return f.formula.At(extents, rank);
  const Doubles zero = Doubles{};
  return {zero + f.whole_compute, zero + f.whole_memory,
          zero + (f.whole_seconds - std::max(f.whole_compute, f.whole_memory))};
}

SMELT_LANES_INLINE void FillLanes(const Facts& f, const Doubles* extents, int64_t rank, float* columns) {
  const std::vector<int64_t>& dimensions = f.formula.dimensions;
  const Doubles one = Doubles{} + 1.0, missing = Doubles{} - 1.0;
  float* out = columns;
  const auto put = [&](const Doubles& value) __attribute__((always_inline)) {
    Store(value, out);
    out += TileRows::kBlock;
  };
  Doubles sum = Doubles{}, elements = one, tiles = one;
  for (int64_t d = 0; d < rank; ++d) {
    sum += extents[d];
    elements *= extents[d];
    tiles *= CeilOf(Doubles(static_cast<double>(dimensions[d]) / extents[d]));
  }
  for (int i = 0; i < kDims; ++i) put(i < rank ? Log1pOf(extents[rank - 1 - i]) : missing);
  for (int i = 0; i < kDims; ++i)
    put(i < rank ? Log1pOf(Doubles{} + static_cast<double>(dimensions[rank - 1 - i])) : missing);
  for (int i = 0; i < kDims; ++i) {
    if (i >= rank) {
      put(Doubles{});
      continue;
    }
    // Share of the last tile that is there: what a tail wastes is the rest.
    const Doubles extent = extents[rank - 1 - i];
    const Doubles dimension = Doubles{} + static_cast<double>(dimensions[rank - 1 - i]);
    put((dimension - FloorOf(dimension / extent) * extent) / extent);
  }
  const Doubles minor = rank > 0 ? extents[rank - 1] : Doubles{};
  const double lanes = f.vector_bytes / f.element_bytes;
  put(Log1pOf(sum));
  put(Log1pOf(elements));
  put(Log1pOf(tiles));
  put((minor - FloorOf(minor / lanes) * lanes) / lanes);
  put(Log1pOf(minor * f.element_bytes / f.vector_bytes));
  put((minor - FloorOf(minor / 128.0) * 128.0) / 128.0);
  put(Log1pOf(elements * f.element_bytes / f.l1_bytes));
  put(Log1pOf(elements * f.element_bytes / f.l2_bytes));
  put(Log1pOf(tiles / f.threads));
  const EstimateOf<Doubles> estimate = EstimateLanes(f, extents, rank);
  put(LogTimeOf(estimate.seconds()));
  put(LogTimeOf(estimate.compute));
  put(LogTimeOf(estimate.memory));
  // Where a tile has whole rows, the next ones follow in memory, and vectors go on over them.
  Doubles run = one, whole = one;
  for (int64_t d = rank; d-- > 0;) {
    run = whole > 0.0 ? run * extents[d] : run;
    whole = extents[d] < static_cast<double>(dimensions[d]) ? Doubles{} : whole;
  }
  put(Log1pOf(run));
  put(run / (CeilOf(Doubles(run / lanes)) * lanes));
  Doubles apart = Doubles{};
  for (int i = 0; i < kDims; ++i) {
    if (i >= static_cast<int>(f.preferred.size())) {
      put(Doubles{});
      continue;
    }
    const Doubles over = Log1pOf(extents[rank - 1 - i]) - f.preferred[f.preferred.size() - 1 - i];
    put(over);
    apart += over < 0.0 ? -over : over;
  }
  put(apart);
}

SMELT_VECTOR_VERSIONS void FillColumns(const Facts& f, const int64_t* extents, int64_t rank, int count,
                                       float* columns) {
  Doubles loaded[TileRows::kMostRank];
  for (int first = 0; first < TileRows::kBlock; first += kLanes) {
    Load(extents, rank, first, count, loaded);
    FillLanes(f, loaded, rank, columns + first);
  }
}

SMELT_VECTOR_VERSIONS void FillSeconds(const Facts& f, const int64_t* extents, int64_t rank, int count,
                                       float* seconds) {
  Doubles loaded[TileRows::kMostRank];
  for (int first = 0; first < count; first += kLanes) {
    Load(extents, rank, first, count, loaded);
    const Doubles sum = EstimateLanes(f, loaded, rank).seconds();
    for (int lane = 0; lane < kLanes && first + lane < count; ++lane)
      seconds[first + lane] = static_cast<float>(sum[lane]);
  }
}

}  // namespace

TileRows::TileRows(const hlo::Computation& kernel, const machine::Machine& target)
    : vector_bytes_(target.vector_bytes),
      l1_bytes_(static_cast<double>(target.LevelBytes(0))),
      l2_bytes_(static_cast<double>(target.LevelBytes(1))),
      threads_(target.threads) {
  formula_ = kernels::cost::FormulaOf(kernel, target);
  absl::StatusOr<kernels::nests::TiledKernel> tiled = kernels::nests::TiledKernelOf(kernel, target);
  has_tiles_ = tiled.ok() && tiled->dimensions.size() <= kMostRank;
  if (has_tiles_) {
    formula_.dimensions = std::move(tiled->dimensions);
    for (const int64_t extent : tiled->preferred) preferred_.push_back(std::log1p(static_cast<double>(extent)));
  }
  const EstimateOf<double> whole = formula_.Whole();
  whole_compute_ = whole.compute;
  whole_memory_ = whole.memory;
  whole_seconds_ = whole.seconds();
  const hlo::Shape* root = &kernel.root()->shape();
  while (root->IsTuple() && !root->tuple_shapes.empty()) root = &root->tuple_shapes[0];
  element_bytes_ = static_cast<double>(std::max<int64_t>(hlo::StorageBytes(root->element_type), 1));
}

void TileRows::FillBlock(const int64_t* extents, int count, float* columns) const {
  const Facts facts{formula_,       preferred_,    has_tiles_, whole_compute_, whole_memory_, whole_seconds_,
                    element_bytes_, vector_bytes_, l1_bytes_,  l2_bytes_,      threads_};
  FillColumns(facts, extents, static_cast<int64_t>(dimensions().size()), count, columns);
}

void TileRows::Estimate(const int64_t* extents, int count, float* seconds) const {
  const Facts facts{formula_,       preferred_,    has_tiles_, whole_compute_, whole_memory_, whole_seconds_,
                    element_bytes_, vector_bytes_, l1_bytes_,  l2_bytes_,      threads_};
  FillSeconds(facts, extents, static_cast<int64_t>(dimensions().size()), count, seconds);
}

TileRows TileRows::WithoutTiles(const std::vector<int64_t>& dimensions) const {
  TileRows other = *this;
  other.has_tiles_ = false;
  other.formula_.dimensions = dimensions;
  other.preferred_.clear();
  return other;
}

}  // namespace smelt::gnn
