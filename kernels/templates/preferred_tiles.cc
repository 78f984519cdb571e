// The handful of tiles that are worth a look for a nest, by its kind.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/ceil_div.h"
#include "kernels/templates/ahead.h"
#include "kernels/templates/dot_instruction.h"
#include "kernels/templates/parallel_pieces.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/shared_lines.h"
#include "kernels/templates/templates.h"
#include "kernels/templates/winograd.h"

namespace smelt::kernels::nests {
namespace {

// Elements of an elementwise tile: a loop long enough to forget its start, short enough to share out.
constexpr int64_t kChunk = 8192;
// A tile of a transpose reads as many streams as a cache line of the output has elements, each in a long run.
constexpr int64_t kTransposeStreams = 16;
constexpr int64_t kTransposeRun = 1024;
// Partial sums of a matrix that streams by lie in the first cache. Where it comes from memory, long runs of its rows
// are worth more than that, and these lie in a part of the second one: 2.7 ms instead of 3.0 for 4096 x 4096 on a
// Zen 4.
constexpr int64_t kStreamedColumns = 2048;
constexpr int64_t kStreamedShare = 8;
// Terms of a sum that is short beside reading and writing its result.
constexpr double kFewTerms = 8;
// Rows in one tile of a sum in blocks, times those whose sums fill a quarter of the second cache.
constexpr int64_t kRoomForAll = 2;
// Short sums that are computed together, in vectors, before what reads them.
constexpr int64_t kShortSums = 128;
// Lines of a depthwise window's output for each block of channels: they share the taps, and the lines that windows
// overlap.
constexpr int64_t kWindowLines = 4;
// Lines that are computed together, those beyond the picture too, over those of the picture: more is no gain.
constexpr double kMostLinesBeyond = 13.0 / 12;
// Lines of a cache that one visit to pixels which share sets uses up, for a tile of few pixels of all lines to pay.
constexpr int64_t kLinesOfFarPixels = 4;
// Places of a sequence at a time.
constexpr int64_t kPlaces = 64;
// Rows that are normalised together. Two gain less, eight no more: on a Zen 4, layer norms of 64 to 1,024 elements take
// 0.75 to 0.97 of the time of single rows, softmaxes 0.84 to 0.98.
constexpr int64_t kRowsTogether = 4;

// Columns of a product in one tile, where a row of results takes less than a page. Longer rows lie in pages of their
// own, and a tile has as much of them as it can: 4096 x 4096 results of 64 terms in 20.3 ms instead of 22.0 on a Zen 4,
// on its AVX2 alone 20.5 instead of 23.0.
constexpr int64_t kColumnsOfShortRows = 256;

// Results of a plain sum that lie inside the axis of its vectors and are computed together: distances to a few points.
constexpr int64_t kNearResults = 8;

int64_t RoundUp(int64_t value, int64_t multiple) { return CeilDiv(value, multiple) * multiple; }

// Whether what is computed once a row goes in vectors over several rows: some sum is short, or the row itself.
bool SharesVectors(const Nest& nest, const machine::Machine& target) {
  const int inner = static_cast<int>(nest.root->axes.size()) - 1;
  const bool once_a_row = std::any_of(nest.attached.begin(), nest.attached.end(), [&](const Attached& attached) {
    return attached.depth == inner && !attached.operation->IsReduction() &&
           Elements(*attached.operation) * static_cast<double>(nest.root->shape.back()) == Elements(*nest.root);
  });
  if (once_a_row && HasShortRows(nest, nest.root->shape[inner - 1], LanesOf(*nest.root, target))) return true;
  return std::any_of(nest.attached.begin(), nest.attached.end(), [&](const Attached& attached) {
    const te::Operation& sum = *attached.operation;
    return attached.depth > 0 && sum.IsReduction() && ShortSumAxis(sum, AccessesOf(nest, sum), target) >= 0;
  });
}

// Whether rows go several at a time: while one row's sums, roots and quotients wait for each other, those of the others
// are computed. What they share stays in the nearest cache, and threads have pieces enough. Rows without sums wait for
// nothing, and gain where vectors go over short ones; not where the last rows are fewer and rows end within a vector (2
// x 257 x 51 complex numbers, scaled and transposed, 42 us instead of 22), nor where each is looked up in a large
// table.
bool TakesSeveralRows(const Nest& nest, const std::vector<int64_t>& tile, int axis, const machine::Machine& target) {
  constexpr double kShareOfCache = 1.5;
  constexpr int64_t kPiecesOfThread = 4;
  if (nest.kind != NestKind::kRows || SharesVectors(nest, target)) return false;
  const double near = kShareOfCache * static_cast<double>(target.LevelBytes(0));
  if (TileFootprint(nest, tile) > near) return false;
  const std::vector<int64_t>& shape = nest.root->shape;
  const bool sums = std::any_of(nest.attached.begin(), nest.attached.end(),
                                [](const Attached& attached) { return attached.operation->IsReduction(); });
  if (!sums && !nest.root->IsReduction()) {
    const bool uneven = shape[axis] % tile[axis] != 0 && shape.back() % LanesOf(*nest.root, target) != 0;
    const bool looks_up = std::any_of(nest.accesses.begin(), nest.accesses.end(), [&](const Access& access) {
      return IsPositionData(access) && MatrixBytes(access) > near;
    });
    if (uneven || looks_up) return false;
  }
  const bool outer = std::any_of(shape.begin(), shape.begin() + axis, [](int64_t extent) { return extent > 1; });
  return outer || target.threads == 1 || CeilDiv(shape[axis], tile[axis]) >= kPiecesOfThread * target.threads;
}

int64_t StreamedColumns(const Nest& nest, int vector_axis, const machine::Machine& target) {
  const Access* matrix = LargestVectorAccess(nest, *nest.main, vector_axis);
  if (matrix == nullptr) return kStreamedColumns;
  const bool from_memory = IsFromMemory(*matrix, target);
  const auto rows = static_cast<int64_t>(Reuse(*nest.main, *matrix));
  const int64_t sum_bytes = rows * static_cast<int64_t>(sizeof(float));
  if (from_memory) return std::max(target.LevelBytes(1) / kStreamedShare / sum_bytes, kStreamedColumns / 4);
  if (rows == 1) return kStreamedColumns;
  return std::clamp<int64_t>(target.LevelBytes(0) / sum_bytes / 64 * 64, kStreamedColumns / 4, kStreamedColumns);
}

// Whether results that no near cache holds are sums of a few terms, as the weights' gradient of one step of a recurrent
// layer: to read and write them row after row is then worth more than to keep a strip of the shared operand, which is
// small. 1,300 x 2,600 sums of 8, added to what was there, take 2.5 ms in strips of 32 columns on a Zen 4, and 1.7 so.
bool IsLargeOfShortSums(const Nest& nest, const RegisterTile& registers, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  const Access* shared = LargestVectorAccess(nest, main, registers.vector_axis);
  if (registers.row_axis < 0 || registers.row_axis > registers.vector_axis || shared == nullptr) return false;
  const auto cache = static_cast<double>(target.LevelBytes(1));
  return Steps(main) <= kFewTerms * Elements(main) && Elements(main) > cache && 4 * MatrixBytes(*shared) <= cache;
}

// Whether each line of the matrix that the rows share is a page or more long, and the nearer caches do not hold it: a
// strip of a register tile's width would take a piece of every page, and wider ones take it in longer runs. On a Zen 4
// 64 x 512 x 2,048 take 0.92 of the time so, where they come from memory 0.9, with AVX2 0.85 to 1; shorter lines gain
// nothing.
bool HasLongLines(const Nest& nest, int vector_axis, const machine::Machine& target) {
  const Access* matrix = LargestVectorAccess(nest, *nest.main, vector_axis);
  return matrix != nullptr && Stride(*matrix, nest.main->axes[vector_axis].var) == 1 &&
         LinesAreFar(*nest.main, *matrix) && 2 * MatrixBytes(*matrix) >= static_cast<double>(target.LevelBytes(1));
}

// Inner dimensions whole, as many as fit a chunk.
std::vector<int64_t> ChunkTile(const std::vector<int64_t>& shape, int64_t chunk) {
  std::vector<int64_t> tile(shape.size(), 1);
  int64_t room = chunk;
  for (size_t i = shape.size(); i-- > 0;) {
    tile[i] = std::min(shape[i], std::max<int64_t>(room, 1));
    room /= tile[i];
    if (tile[i] < shape[i]) break;
  }
  return tile;
}

// Whether lines of the result along the axis lie a multiple of a quarter page apart, few sets of the nearest cache for
// many lines, in an array that the caches hold. One square of lines at a time, and its neighbours next, take 0.6 to 0.8
// of the time then where a vector is a line (a Zen 4, heads merged and squares of 256 to 1,024), 1.1 to 1.3 where it is
// half of one. An array from memory wants long runs: 2,048^2 in 1.2 ms instead of 3.0.
bool LinesShareSets(const te::Operation& root, int axis, const machine::Machine& target) {
  const int64_t element = hlo::StorageBytes(root.types[0]);
  int64_t step = element;
  for (size_t a = axis + 1; a < root.shape.size(); ++a) step *= root.shape[a];
  return target.vector_bytes >= machine::kLineBytes && step % (kPageBytes / 4) == 0 &&
         Elements(root) * static_cast<double>(element) <= 4 * static_cast<double>(target.LevelBytes(1));
}

std::vector<std::vector<int64_t>> InjectiveTiles(const Nest& nest, const machine::Machine& target) {
  const te::Operation& root = *nest.root;
  const std::vector<int64_t>& shape = root.shape;
  std::vector<std::vector<int64_t>> tiles;
  if (const int axis = TransposedAxis(nest, LanesOf(root, target)); axis >= 0) {
    std::vector<int64_t> tile(shape.size(), 1);
    tile[axis] = std::min(shape[axis], LinesShareSets(root, axis, target) ? kTransposeStreams : kTransposeRun);
    tile.back() = std::min(shape.back(), kTransposeStreams);
    tiles.push_back(std::move(tile));
  }
  const SharedLines shared = tiles.empty() ? SharedLinesOf(nest, target) : SharedLines();
  for (const int64_t chunk : {kChunk, 4 * kChunk, kChunk / 8}) {
    std::vector<int64_t> tile = ChunkTile(shape, chunk);
    if (shared) tile[shared.axis] = std::max(tile[shared.axis], shared.lines);
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

// Tiles of an axis that are worth a look where threads want more of them: the one at hand, and those with which the
// axis falls into some number of nearly equal parts of whole units. No unit of the last part lies beyond the axis: what
// is in registers is computed for whole units, and only then not stored.
std::vector<int64_t> SmallerTiles(int64_t extent, int64_t tile, int64_t unit) {
  constexpr int64_t kMostTiles = 32;
  std::vector<int64_t> tiles{tile};
  for (int64_t parts = CeilDiv(extent, tile); tiles.size() < kMostTiles && tiles.back() > unit; ++parts) {
    const int64_t smaller = RoundUp(CeilDiv(extent, parts), unit);
    const bool no_idle_unit = RoundUp(extent, smaller) - extent < unit;
    if (smaller < tiles.back() && no_idle_unit) tiles.push_back(smaller);
    if (smaller <= unit) break;
  }
  return tiles;
}

// How evenly tiles feed the threads. Lines that go together are computed together, those beyond the picture too.
double BalanceOf(const te::Operation& main, const std::vector<int64_t>& tile, const RegisterTile& registers,
                 int threads) {
  std::vector<TileLoop> loops;
  for (size_t a = 0; a < tile.size(); ++a) {
    const bool together = registers.line_axis >= 0 && static_cast<int>(a) == registers.row_axis;
    const int64_t extent = together ? RoundUp(main.shape[a], registers.rows) : main.shape[a];
    loops.push_back({static_cast<int>(a), extent, tile[a], ""});
  }
  return std::min(PieceBalance(std::move(loops), threads), kBalanced);
}

// The tile, cut where its pieces would leave threads idle: as little as that takes. Rows are cut between register
// tiles, columns between strips.
std::vector<int64_t> CutForThreads(const Nest& nest, const std::vector<int64_t>& tile, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  const std::vector<int64_t>& shape = main.shape;
  if (target.threads <= 1) return tile;
  const RegisterTile registers = ChooseRegisterTile(nest, tile, target);
  std::vector<int64_t> best = tile;
  double best_balance = 0, best_traffic = 0;
  const auto consider = [&](const std::vector<int64_t>& candidate) {
    double row_tiles = 1, rows = 1;
    for (size_t a = 0; a < shape.size(); ++a) {
      if (static_cast<int>(a) == registers.vector_axis) continue;
      rows *= static_cast<double>(shape[a]);
      row_tiles *= static_cast<double>(CeilDiv(shape[a], candidate[a]));
    }
    const int64_t columns = shape[registers.vector_axis];
    const double balance = BalanceOf(main, candidate, registers, target.threads);
    // Each operand is read once for every tile of the other's axis.
    const double traffic = rows * static_cast<double>(CeilDiv(columns, candidate[registers.vector_axis])) +
                           row_tiles * static_cast<double>(columns);
    if (balance < best_balance || (balance == best_balance && traffic >= best_traffic)) return;
    best = candidate;
    best_balance = balance;
    best_traffic = traffic;
  };
  consider(tile);
  std::vector<int64_t> candidate = tile;
  const int64_t row_unit = registers.rows * std::max<int64_t>(registers.planes, 1);
  const std::vector<int64_t> no_rows{1};
  const int64_t columns_extent = shape[registers.vector_axis];
  for (int64_t columns : SmallerTiles(columns_extent, tile[registers.vector_axis], registers.width())) {
    candidate[registers.vector_axis] = columns;
    const bool has_rows = registers.row_axis >= 0;
    for (int64_t rows :
         has_rows ? SmallerTiles(shape[registers.row_axis], tile[registers.row_axis], row_unit) : no_rows) {
      if (has_rows) candidate[registers.row_axis] = rows;
      consider(candidate);
      // Whole lines of further rows, as the pixels of a convolution have.
      for (size_t a = 0; a < shape.size(); ++a) {
        if (static_cast<int>(a) == registers.row_axis || static_cast<int>(a) == registers.vector_axis) continue;
        const bool whole = static_cast<int>(a) == registers.plane_axis && registers.planes == tile[a];
        if (whole || tile[a] == 1) continue;
        for (int64_t lines : SmallerTiles(shape[a], tile[a], 1)) {
          candidate[a] = lines;
          consider(candidate);
        }
        candidate[a] = tile[a];
      }
    }
  }
  return best;
}

// All taps of as many channels as leave the lines of the picture under the taps near while they move down.
std::vector<std::vector<int64_t>> TilesOfTaps(const Nest& nest, const RegisterTile& registers,
                                              const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  const int axis = registers.vector_axis;
  const double lines = static_cast<double>(registers.planes + 2);
  const double pixels = lines * static_cast<double>(main.reduce_axes.back().extent) * sizeof(float);
  const int64_t near =
      std::max<int64_t>(static_cast<int64_t>(static_cast<double>(target.LevelBytes(1)) / 2 / pixels), 1);
  std::vector<int64_t> tile = main.shape;
  const int64_t strips = CeilDiv(tile[axis], near);
  tile[axis] = std::min(tile[axis], RoundUp(CeilDiv(tile[axis], strips), registers.width()));
  return {tile};
}

std::vector<std::vector<int64_t>> TilesOfOneThread(const Nest& nest, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  if (const std::optional<DotForm> form = DotFormOf(nest, target)) return DotTiles(nest, *form);
  const std::vector<int64_t>& shape = main.shape;
  const RegisterTile whole = ChooseRegisterTile(nest, shape, target);
  std::vector<int64_t> tile(shape.size(), 1);
  if (whole.vector_axis < 0) return {tile};
  const int64_t extent = shape[whole.vector_axis];
  int64_t& columns = tile[whole.vector_axis];
  switch (FormOf(nest, target)) {
    case TiledForm::kStreamed: {
      // There are as many chunks as threads, or a multiple.
      const int64_t threads = std::max(target.threads, 1);
      const int64_t most = StreamedColumns(nest, whole.vector_axis, target);
      const int64_t chunks = RoundUp(CeilDiv(extent, most), threads);
      columns = std::min(extent, RoundUp(CeilDiv(extent, chunks), whole.lanes));
      if (threads == 1) columns = std::min(extent, most);
      return {tile};
    }
    case TiledForm::kBlocked: {
      if (SumsForTaps(nest)) return TilesOfTaps(nest, whole, target);
      // Columns for long runs of memory, whole strips of a panel that is packed, then as many rows as keep the
      // accumulators near.
      columns = 32 * whole.lanes;
      if (SharesAStream(nest, whole.vector_axis, target))
        columns = StreamedColumns(nest, whole.vector_axis, target) / whole.width() * whole.width();
      columns = std::min(columns, extent);
      int64_t room = target.LevelBytes(1) / 4 / (columns * 4);
      const Access* shared = LargestVectorAccess(nest, main, whole.vector_axis);
      std::vector<size_t> rows_first;
      if (whole.row_axis >= 0) rows_first.push_back(whole.row_axis);
      for (size_t a = shape.size(); a-- > 0;) {
        if (static_cast<int>(a) == whole.row_axis || static_cast<int>(a) == whole.vector_axis) continue;
        // A block of the shared operand serves one batch, or one phase of a transposed convolution.
        const auto depends = [&](const te::Expr& index) { return te::Mentions(index, main.axes[a].var); };
        if (std::any_of(shared->indices.begin(), shared->indices.end(), depends)) continue;
        rows_first.push_back(a);
      }
      for (size_t a : rows_first) {
        // A rest of the rows would have the panel made for several tiles, in memory, before any of them.
        tile[a] = shape[a] <= kRoomForAll * room ? shape[a] : std::max<int64_t>(room, 1);
        room = std::max<int64_t>(room / tile[a], 1);
      }
      std::vector<std::vector<int64_t>> tiles{tile};
      if (columns > 4 * whole.lanes) {
        columns /= 2;
        tiles.push_back(tile);
      }
      return tiles;
    }
    case TiledForm::kDots:
      columns = std::min<int64_t>(extent, 16);
      if (const std::optional<DotBlock> block = DotBlockOf(nest, target)) {
        // Whole blocks and whole vectors of what follows.
        tile[block->row_axis] = shape[block->row_axis];
        columns = std::min(extent, std::lcm(block->columns, whole.lanes));
      }
      return {tile};
    case TiledForm::kRegisters:
      break;
  }
  for (int axis : {whole.row_axis, whole.plane_axis}) {
    if (axis < 0) continue;
    // Inside the axis of the vectors a row's results are stored apart: few of them fill the lines that they share.
    const bool near = axis < whole.vector_axis || shape[axis] <= kNearResults;
    if (IsContraction(main) || near) tile[axis] = shape[axis];
  }
  columns = std::min(extent, whole.width());
  std::vector<std::vector<int64_t>> tiles{tile};
  if (!IsContraction(main)) {
    // Whole rows of results, one after the other: written a few vectors at a time, rows a power of two apart would
    // drive each other's lines out of the cache.
    if (whole.row_axis >= 0 && whole.row_axis < whole.vector_axis && columns < extent) {
      tile[whole.row_axis] = std::min(shape[whole.row_axis], whole.rows);
      columns = extent;
      tiles.insert(tiles.begin(), tile);
    }
    return tiles;
  }
  if (IsLargeOfShortSums(nest, whole, target)) {
    tile[whole.row_axis] = std::min(shape[whole.row_axis], whole.rows);
    columns = extent;
    tiles.insert(tiles.begin(), tile);
  }
  if (IsDepthwise(nest)) {
    const int pixels = whole.line_axis >= 0 ? whole.line_axis : whole.row_axis;
    const int lines = LinesAxis(nest, pixels);
    if (lines >= 0) {
      tile[pixels] = shape[pixels];
      tile[lines] = std::min(shape[lines], kWindowLines);
      tiles.insert(tiles.begin(), tile);
      // Two strips side by side, unless that would take turns with taps that fill the registers.
      if (!HasManyTaps(nest)) {
        columns = std::min(extent, 2 * whole.width());
        tiles.insert(tiles.begin(), tile);
      }
      // Taps of all channels there are stay in registers, which may be too few for two vectors of them. One at a
      // time comes last: on a Cascade Lake, which has room for two, it takes half as long again.
      if (extent == 2 * whole.lanes) {
        columns = whole.lanes;
        tiles.push_back(tile);
      }
      if (KeepsTaps(nest, lines, target)) {
        // Three lines may lie too far beyond the picture.
        columns = 2 * whole.lanes;
        const bool filled = shape[lines] % 2 == 0 && extent % columns == 0;
        for (tile[lines] = filled ? 2 : kLinesAtOnce; tile[lines] <= kLinesAtOnce; ++tile[lines]) {
          const auto computed = static_cast<double>(RoundUp(shape[lines], tile[lines]));
          if (computed <= kMostLinesBeyond * static_cast<double>(shape[lines])) tiles.insert(tiles.begin(), tile);
        }
      }
      // Where few sets of the nearest cache hold the pixels, a few of each line in turn, for as many channels as one
      // visit to them can serve. Lines that go together are better if no more than half of the sets are lost.
      const bool together = tiles.front()[lines] <= kLinesAtOnce;
      const bool even = CeilDiv(extent, whole.width()) % std::max(target.threads, 1) == 0;
      if (whole.vectors * target.vector_bytes >= kLinesOfFarPixels * machine::kLineBytes && even &&
          PixelsRepeat(nest, pixels, together ? kPageBytes : kPageBytes / 2)) {
        columns = std::min(extent, 2 * whole.width());
        tile[lines] = shape[lines];
        tile[pixels] = std::min(shape[pixels], whole.rows);
        tiles.insert(tiles.begin(), tile);
      }
    }
    // One line, a sequence: in the order of memory, as long as the taps of all channels stay near. Four taps of 1,536
    // channels over 2,048 places take 1.9 ms on a Cascade Lake, and 6.2 in strips, each place of which is in another
    // page.
    const double taps = Steps(main) / Elements(main) * static_cast<double>(extent) * sizeof(float);
    if (lines < 0 && pixels >= 0 && taps <= static_cast<double>(target.LevelBytes(0))) {
      tile[pixels] = std::min(shape[pixels], kPlaces);
      columns = extent;
      tiles.insert(tiles.begin(), tile);
    }
    return tiles;
  }
  // A wide left operand is read once for each tile of columns: wider tiles, as far as the panel stays near. So are
  // tiles of long lines.
  double rows = 1;
  for (size_t a = 0; a < shape.size(); ++a) {
    if (static_cast<int>(a) != whole.vector_axis) rows *= static_cast<double>(shape[a]);
  }
  const double sum = Steps(main) / Elements(main);
  const bool streams = rows * sum * 4 > static_cast<double>(target.LevelBytes(1)) / 2;
  std::vector<std::vector<int64_t>> wider;
  const int64_t widest = extent * 4 >= kPageBytes ? extent : std::min(extent, kColumnsOfShortRows);
  for (int64_t width = 2 * whole.width(); width <= widest; width *= 2) {
    if (static_cast<double>(width) * sum * 4 > static_cast<double>(target.LevelBytes(1)) / 2) break;
    columns = width;
    wider.push_back(tile);
  }
  if (streams || HasLongLines(nest, whole.vector_axis, target)) {
    std::reverse(wider.begin(), wider.end());
    tiles.insert(tiles.begin(), wider.begin(), wider.end());
  } else {
    tiles.insert(tiles.end(), wider.begin(), wider.end());
  }
  return tiles;
}

std::vector<std::vector<int64_t>> TiledTiles(const Nest& nest, const machine::Machine& target) {
  std::vector<std::vector<int64_t>> tiles;
  const bool cut = IsContraction(*nest.main) && VectorAxisOf(nest) >= 0 &&
                   FormOf(nest, target) <= TiledForm::kBlocked && !DotFormOf(nest, target);
  for (const std::vector<int64_t>& tile : TilesOfOneThread(nest, target)) {
    std::vector<int64_t> shared = cut ? CutForThreads(nest, tile, target) : tile;
    if (std::find(tiles.begin(), tiles.end(), shared) == tiles.end()) tiles.push_back(std::move(shared));
  }
  // Lines of a depthwise window that go together may not feed every thread where single ones do.
  const auto balance = [&](size_t i) {
    return BalanceOf(*nest.main, tiles[i], ChooseRegisterTile(nest, tiles[i], target), target.threads);
  };
  while (cut && tiles.size() > 1 && ChooseRegisterTile(nest, tiles[0], target).line_axis >= 0 &&
         balance(0) < balance(1))
    tiles.erase(tiles.begin());
  return tiles;
}

}  // namespace

const std::vector<int64_t>& TiledExtents(const Nest& nest) {
  if (nest.winograd) return nest.winograd->extents;
  return nest.kind == NestKind::kTiled ? nest.main->shape : nest.root->shape;
}

double TileFootprint(const Nest& nest, const std::vector<int64_t>& tile) {
  const te::Operation& tiled = nest.kind == NestKind::kTiled ? *nest.main : *nest.root;
  double bytes = 4;
  for (int64_t extent : tile) bytes *= static_cast<double>(extent);
  for (const Access& access : nest.accesses) {
    if (access.reader.get() != &tiled) continue;
    const bool from_data = IsPositionData(access);
    double elements = 1;
    for (size_t d = 0; d < access.indices.size(); ++d) {
      // Places that positions in data name may all be different ones.
      double span = 1, places = 1;
      const auto add = [&](const te::Expr& variable, int64_t steps) {
        const std::optional<int64_t> coefficient = Coefficient(access.indices[d], variable);
        if (coefficient) {
          span += std::abs(static_cast<double>(*coefficient)) * static_cast<double>(steps - 1);
        } else if (from_data) {
          places *= static_cast<double>(steps);
        } else {
          span += static_cast<double>(access.tensor->shape[d]);
        }
      };
      for (size_t a = 0; a < tiled.axes.size(); ++a) add(tiled.axes[a].var, tile[a]);
      // What a plain sum reads passes by; what a contraction shares is used again.
      if (IsContraction(tiled)) {
        for (const te::IterVar& axis : tiled.reduce_axes) add(axis.var, axis.extent);
      }
      elements *= std::min(span * places, static_cast<double>(access.tensor->shape[d]));
    }
    bytes += elements * static_cast<double>(hlo::StorageBytes(access.tensor->types[access.output]));
  }
  return bytes;
}

std::vector<std::vector<int64_t>> PreferredTiles(const Nest& nest, const machine::Machine& target) {
  if (nest.winograd) return WinogradTiles(*nest.winograd, target);
  const std::vector<int64_t>& shape = TiledExtents(nest);
  if (shape.empty()) return {{}};
  switch (nest.kind) {
    case NestKind::kInjective:
      return InjectiveTiles(nest, target);
    case NestKind::kTiled:
      return TiledTiles(nest, target);
    case NestKind::kRowReduction:
      if (nest.attached.empty() && ShortSumAxis(*nest.root, AccessesOf(nest, *nest.root), target) >= 0)
        return {ChunkTile(shape, kChunk), ChunkTile(shape, kChunk / 8)};
      break;
    case NestKind::kRows:
      break;
  }
  int depth = static_cast<int>(shape.size());
  if (nest.kind == NestKind::kRows) {
    depth = 0;
    for (const Attached& attached : nest.attached) depth = std::max(depth, attached.depth);
  }
  std::vector<int64_t> one(shape.size(), 1);
  for (size_t i = depth; i < shape.size(); ++i) one[i] = shape[i];
  std::vector<std::vector<int64_t>> tiles{one};
  if (SharesVectors(nest, target)) {
    one[depth - 1] = std::min(shape[depth - 1], kShortSums);
    tiles.insert(tiles.begin(), one);
  }
  if (depth > 0 && shape[depth - 1] >= kRowsTogether) {
    one[depth - 1] = kRowsTogether;
    tiles.insert(TakesSeveralRows(nest, one, depth - 1, target) ? tiles.begin() : tiles.end(), one);
  }
  return tiles;
}

}  // namespace smelt::kernels::nests
