#include "kernels/templates/register_tile.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/ceil_div.h"
#include "kernels/te/hlo/pairs.h"
#include "kernels/te/hlo/position.h"
#include "kernels/templates/ahead.h"
#include "kernels/templates/templates.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {
namespace {

// Accumulators that hide the latency of the multiply-adds into them; with fewer, more rows are worth having.
constexpr int64_t kLatencyAccumulators = 8;
// Multiply-adds of one vector each in an iteration of the sum's loop that make its own instructions few beside them.
constexpr int64_t kStepsAtOnce = 32;
// Rows that share a matrix which is read once: below this, packing it costs more than it saves.
constexpr double kFewRows = 5;
// Terms of a sum from which on adding the lanes of its vectors in the end costs little, and rows up to which dot
// products beside each other are better than a copy of their matrix that is transposed. On a Zen 4 4, 16, 32, 64 rows
// times the transpose of 1,300 x 2,600 take 0.26, 1.3, 2.5, 4.7 ms, and 0.63, 3.3, 4.7, 6.3 with a copy.
constexpr int64_t kLongDot = 128;
constexpr double kMostRowsOfDots = 64;
// Rows that pay for keeping accumulators in scratch between blocks of the sum.
constexpr double kManyRows = 12;
// The share of the nearest cache for what one block of a sum over pixels reads. On a Zen 3, blocks of 25 KB of its 32
// are 1.3 times as fast as lines of pixels, one of 31 KB 1.05 times slower.
constexpr double kShareOfBlocks = 7.0 / 8;
// Rows that share a stream where each row of the matrix begins in another page: packing it takes longer, and so does
// reading a strip of it. On a Zen 4, 16 rows times 768 x 3,072 take 0.72 ms as a stream and 0.93 packed, times 512 x
// 1,024 0.15 and 0.21 in strips; times 3,072 x 768, whose rows are near, 0.75 and 0.72.
// Where registers are few, register tiles of a stream have fewer rows, and a packed panel is worth it sooner: on a Zen
// 3, as a stream and packed, 16 rows times 1,024 x 1,024 take 0.54 ms and 0.48, times 768 x 3,072 1.33 and 1.11; 12
// rows 0.35 and 0.39, 0.89 and 0.98.
constexpr double kMostOfFarLines = 32, kMostOfFarLinesWithFewRegisters = 12;
// Rows of a matrix that a few examples share, or a few pixels, in one block of their sum: so many streams, each of
// which is read in order.
constexpr int64_t kRowsInABlock = 16;
// Twice as many where more than so many rows share a stream: their sums come and go half as often. On a Zen 3, 12 rows
// times 1,024 x 1,024 take 0.41 ms and 0.45, 8 times 2,048 x 2,048 1.56 and 1.46; on a Zen 4, with AVX-512, 16 times
// 512 x 2,048 0.320 and 0.336, 32 times 4,096 x 4,096 11.0 and 11.3.
constexpr double kRowsOfShortBlocks = 8;

// Rows that share a matrix of which each pass of a register tile reads a strip where it lies; pages whose addresses are
// at hand on any processor. On a Zen 4 128 rows times 768 x 768 take 1.39 ms so in BERT, where the matrix comes from
// memory, and 1.55 packed. Fewer rows, or strips whose lines crowd few sets, gain as much alone, when the matrix lies
// in the last cache, and lose where it does not: 35 rows times 650 x 2,600 2.9 ms then, and 1.6 packed.
constexpr double kRowsOfStrips = 96, kMostRowsOfStrips = 256;
constexpr int64_t kPagesAtHand = 1024, kShareOfStrips = 2, kWaysOfStrips = 8;

// A convolution to fewer features than that fills no vector with them; its rows must be this wide instead.
constexpr int64_t kFewFeatures = 4;
constexpr int64_t kWidth = 16;

// Steps of a sum that are unrolled whole, and multiply-adds of a register tile in them.
constexpr int64_t kUnrolledTaps = 32;
constexpr double kUnrolledProducts = 1024;
// Instructions of all of them where operands are computed in place: with a cast, a scale and a threshold, four a
// product.
constexpr double kUnrolledInstructions = 4 * kUnrolledProducts;
// Taps of a depthwise window that leave registers no room for those of two vectors of channels.
constexpr int64_t kManyTaps = 16;
// Rows of a register tile beside that many: where they stay in registers, and where each is read anew for all rows.
constexpr int64_t kRowsBesideTaps = 2;
constexpr int64_t kRowsOfEachTap = 4;

// Sums of fewer terms are windows, whose taps are unrolled.
constexpr double kLongSum = 32;
// Registers that a window needs beside its taps and accumulators: what it reads, and what follows it.
constexpr int64_t kOtherRegisters = 4;
// Vectors of channels whose taps stay in registers.
constexpr int64_t kTapVectors = 2;
// Vectors of channels at a time of a window whose neighbouring pixels lie in the same sets of the nearest cache: lines
// of one pixel drive out those of another before a second pass over them. Where registers are few, of two pixels, which
// pays if there are more than a few and all lie in one set: on a Zen 4 14 x 14 of 1,024 channels take 56 us with 2
// vectors and 48 with 4, with the registers of AVX2 92 and 67; 5 x 5 5.9 and 4.7, but 7.1 and 8.7; 7 x 7 of 512 4.5 and
// 4.2, but 5.1 and 6.1.
constexpr int64_t kVectorsOfFarPixels = 4;
constexpr int64_t kFewPixels = 6;
// Results a channel that are taps of a window.
constexpr double kMostTaps = 128;

// The largest divisor of `extent` up to `limit`, unless that is poor: then the fewest passes, evenly filled.
int64_t EvenRows(int64_t extent, int64_t limit) {
  if (extent <= limit) return std::max<int64_t>(extent, 1);
  for (int64_t rows = limit; rows * 2 > limit; --rows) {
    if (extent % rows == 0) return rows;
  }
  const int64_t passes = CeilDiv(extent, limit);
  return CeilDiv(extent, passes);
}

bool HasFewRegisters(const machine::Machine& target) { return target.vector_registers < 32; }

// Vectors of a register tile's row by how many rows there are to share them, for machines with many and with few
// registers: few rows take many vectors, so that the accumulators hide the latency.
struct BlockShape {
  int64_t rows;     // at least; of a stream, at most
  int64_t vectors;  // at most
};
constexpr BlockShape kManyRegisters[] = {{7, 2}, {4, 4}, {2, 6}, {1, 8}};
constexpr BlockShape kFewRegisters[] = {{4, 2}, {3, 3}, {2, 4}, {1, 8}};
// Shapes of a stream's tiles where registers are few: at most so many rows, as many vectors. The one that takes the
// fewest cycles a column is taken.
constexpr BlockShape kStreamOfFewRegisters[] = {{6, 2}, {4, 3}, {3, 4}, {2, 4}};

// Rows of a register tile: more of them are fewer passes over a strip that crowds the first cache, but for a short sum
// what follows it wants registers too.
constexpr int64_t kMostRows = 14;
constexpr int64_t kMostRowsOfShortSums = 12;

// Rows of a block whose operand's lines all lie in one set of the nearest cache, of eight ways at least: more would
// drive each other out before their lines are used up. On a Cascade Lake 4,096 x 4,096 times 4,096 x 64 takes 19.0 ms
// with 6 rows of 4 vectors and 25.3 with 14 of 2.
constexpr int64_t kRowsOfOneSet = 6;

// Whether places along the axis read what lies a multiple of `period` bytes apart.
bool Repeats(const Access& access, const te::IterVar& axis, int64_t period) {
  const std::optional<int64_t> stride = FirstStride(access, axis.var);
  return stride && *stride != 0 && *stride * hlo::StorageBytes(access.tensor->types[access.output]) % period == 0;
}

// Whether rows of the operand that is broadcast begin at the same place of their pages, along this axis.
bool RowsShareASet(const std::vector<Access>& accesses, const te::Operation& main, int row_axis, int vector_axis) {
  if (row_axis < 0) return false;
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return !DependsOn(access, main.axes[vector_axis].var) && Repeats(access, main.axes[row_axis], kPageBytes);
  });
}

// Whether strips of `width` columns, or a great many rows, fall into equal parts for all threads.
bool EnoughForThreads(int64_t rows, int64_t columns, int64_t width, int threads) {
  const int64_t strips = CeilDiv(columns, width);
  return strips % threads == 0 || strips >= 4 * threads || rows >= 16 * kRowsOfOneSet * threads;
}

// Cycles of one step of the sum for a block of `rows` rows, with two multiply-adds a cycle and what comes with a step:
// its own instructions, and lines of the panel from the second cache where there are many. `latency`: the fewest.
double StepCycles(int64_t rows, int64_t vectors, double latency) {
  constexpr double kOverhead = 0.75, kFurtherLine = 0.5;
  const double lines = static_cast<double>(std::max<int64_t>(vectors - 2, 0));
  return std::max(static_cast<double>(rows * vectors) / 2, latency) + kOverhead + kFurtherLine * lines;
}

// The latency of a multiply-add, and what it comes to where sums of a few terms begin and end with their accumulators.
constexpr double kLatency = 4, kLatencyOfShortBlocks = 5;

struct RowBlocks {
  int64_t rows = 1;   // of a block
  double cycles = 0;  // of a step of all blocks
};

// Rows of a block, up to `limit`, with the fewest cycles over all rows; a last block that is smaller means more code.
RowBlocks RowsFor(int64_t extent, int64_t limit, int64_t vectors, double latency = kLatency) {
  constexpr double kSecondBlock = 1.03;
  RowBlocks best;
  for (int64_t rows = std::min(limit, extent); rows >= 1; --rows) {
    const int64_t rest = extent % rows;
    double cycles = static_cast<double>(extent / rows) * StepCycles(rows, vectors, latency);
    if (rest > 0) cycles = (cycles + StepCycles(rest, vectors, latency)) * kSecondBlock;
    if (best.cycles == 0 || cycles < best.cycles) best = {rows, cycles};
  }
  return best;
}

// Vectors and rows of a sum over columns, which keeps a few vectors in flight, or of a window, whose neighbouring rows
// share what they read. Rows inside the axis of the vectors are stored between each other, a vector of each at a time.
void TileOfShortSum(int64_t width, int64_t row_extent, int64_t accumulators, bool far_rows,
                    const machine::Machine& target, RegisterTile& registers) {
  const int64_t wanted = std::max<int64_t>(1, CeilDiv(width, registers.lanes));
  const int64_t most = registers.row_axis > registers.vector_axis ? 1 : far_rows ? kVectorsOfFarPixels : 2;
  registers.vectors = std::min<int64_t>(wanted, row_extent > 1 ? most : 4);
  // Taps of a window stay in registers too, so that fewer accumulators mean fewer rows.
  const int64_t rows = accumulators > 0 ? std::max<int64_t>(4 * accumulators / MostAccumulators(target), 1) : 4;
  const int64_t most_rows = far_rows && HasFewRegisters(target) ? 2 : 4;
  registers.rows = EvenRows(row_extent, std::min(rows, most_rows));
}

// Rows, planes and vectors for the taps of a window: as many taps as there is room for, then vectors.
void TileOfTaps(const std::vector<int64_t>& tile, int64_t most, RegisterTile& registers) {
  const auto extent = [&](int axis) { return axis >= 0 ? tile[axis] : int64_t{1}; };
  registers.rows = EvenRows(extent(registers.row_axis), most);
  registers.planes = EvenRows(extent(registers.plane_axis), most / registers.rows);
  const int64_t wanted = std::max<int64_t>(1, (extent(registers.vector_axis) + registers.lanes - 1) / registers.lanes);
  registers.vectors = EvenRows(wanted, std::max<int64_t>(most / (registers.rows * registers.planes), 1));
}

// Vectors and rows of a product whose tile has `width` columns and `row_extent` rows, for `most` accumulators. A stream
// wants long runs of each row.
void TileOfProduct(const te::Operation& main, const std::vector<Access>& accesses, int64_t width, int64_t row_extent,
                   int64_t most, bool streams, const machine::Machine& target, RegisterTile& registers) {
  const int64_t wanted = std::max<int64_t>(1, CeilDiv(width, registers.lanes));
  const bool one_set = RowsShareASet(accesses, main, registers.row_axis, registers.vector_axis) &&
                       EnoughForThreads(main.axes[registers.row_axis].extent, main.axes[registers.vector_axis].extent,
                                        4 * registers.lanes, std::max(target.threads, 1));
  const int64_t rows_apart = one_set ? std::min(row_extent, kRowsOfOneSet) : row_extent;
  if (streams && HasFewRegisters(target)) {
    double fewest = std::numeric_limits<double>::infinity();
    for (const BlockShape& shape : kStreamOfFewRegisters) {
      const int64_t vectors = std::min({wanted, shape.vectors, most});
      const RowBlocks blocks =
          RowsFor(row_extent, std::min({shape.rows, most / vectors, rows_apart}), vectors, kLatencyOfShortBlocks);
      const double cycles = blocks.cycles / static_cast<double>(vectors);
      if (cycles >= fewest) continue;
      fewest = cycles;
      registers.vectors = vectors;
      registers.rows = blocks.rows;
    }
    return;
  }
  const auto& shapes = HasFewRegisters(target) ? kFewRegisters : kManyRegisters;
  const BlockShape* shape = std::begin(shapes);
  while (shape->rows > rows_apart || (streams && shape + 1 != std::end(shapes) && shape->vectors < 4)) ++shape;
  registers.vectors = std::min({wanted, shape->vectors, most});
  const double strip = Steps(main) / Elements(main) * static_cast<double>(registers.width()) *
                       static_cast<double>(hlo::StorageBytes(main.types[0]));
  const bool crowds = strip > static_cast<double>(target.LevelBytes(0)) / 4;
  const int64_t most_rows = crowds ? kMostRows : kMostRowsOfShortSums;
  registers.rows =
      RowsFor(row_extent, std::min({most_rows, most / registers.vectors, rows_apart}), registers.vectors).rows;
}

// Whether an operand is read for several results, as those of a matrix product are; where all kept axes are batches,
// each is read for one, and vectors go best as memory does.
bool ReusesOperands(const te::Operation& main, const std::vector<Access>& accesses) {
  return std::any_of(main.axes.begin(), main.axes.end(), [&](const te::IterVar& axis) {
    return axis.extent > 1 && std::any_of(accesses.begin(), accesses.end(),
                                          [&](const Access& access) { return !DependsOn(access, axis.var); });
  });
}

}  // namespace

const Access* LargestVectorAccess(const Nest& nest, const te::Operation& contraction, int vector_axis) {
  const te::Expr& vector = contraction.axes[vector_axis].var;
  const Access* best = nullptr;
  for (const Access& access : nest.accesses) {
    if (access.reader.get() != &contraction) continue;
    if (!DependsOn(access, vector)) continue;
    // A row's number, by which it is looked up, is no part of the matrix.
    const bool summed = std::any_of(contraction.reduce_axes.begin(), contraction.reduce_axes.end(),
                                    [&](const te::IterVar& axis) { return DependsOn(access, axis.var); });
    if (!summed) continue;
    // The picture of grouped channels depends on the axis by its group alone, however large it is.
    const bool linear = Stride(access, vector).has_value();
    const bool best_is_linear = best != nullptr && Stride(*best, vector).has_value();
    const bool larger = best == nullptr || Elements(*access.tensor) > Elements(*best->tensor);
    if (linear != best_is_linear ? linear || best == nullptr : larger) best = &access;
  }
  return best;
}

double Reuse(const te::Operation& operation, const Access& access) {
  double reuse = 1;
  for (const te::IterVar& axis : operation.axes) {
    if (!DependsOn(access, axis.var)) reuse *= static_cast<double>(axis.extent);
  }
  return reuse;
}

bool IsDepthwise(const Nest& nest) {
  const int axis = VectorAxisOf(nest);
  if (axis < 0 || !IsContraction(*nest.main)) return false;
  const std::vector<Access> accesses = AccessesOf(nest, *nest.main);
  return std::all_of(accesses.begin(), accesses.end(),
                     [&](const Access& access) { return DependsOn(access, nest.main->axes[axis].var); });
}

int LinesAxis(const Nest& nest, int pixels_axis) {
  const te::Operation& main = *nest.main;
  int lines = pixels_axis - 1;
  while (lines > 0 && main.axes[lines].extent == 1) --lines;
  if (lines < 0 || lines == VectorAxisOf(nest) || main.axes[lines].extent == 1) return -1;
  for (const Access& access : AccessesOf(nest, main)) {
    for (const te::Expr& index : access.indices) {
      if (!te::Mentions(index, main.axes[lines].var)) continue;
      const bool slides = std::any_of(main.reduce_axes.begin(), main.reduce_axes.end(),
                                      [&](const te::IterVar& window) { return te::Mentions(index, window.var); });
      if (slides) return lines;
    }
  }
  return -1;
}

bool KeepsTaps(const Nest& nest, int lines_axis, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  const int channels = VectorAxisOf(nest);
  if (lines_axis < 0 || main.axes[channels].extent < kTapVectors * LanesOf(main, target)) return false;
  const auto taps = static_cast<int64_t>(Steps(main) / Elements(main));
  if (kTapVectors * (taps + kLinesAtOnce) + kOtherRegisters > target.vector_registers) return false;
  const te::Expr& line = main.axes[lines_axis].var;
  bool kept = false, shared = false;
  for (const Access& access : AccessesOf(nest, main)) {
    // What is converted takes registers of its own.
    if (hlo::StorageBytes(access.tensor->types[access.output]) < hlo::StorageBytes(main.types[0])) return false;
    kept |= !DependsOn(access, line);
    for (const te::Expr& index : access.indices) {
      const std::optional<int64_t> step = Coefficient(index, line);
      if (!step || *step == 0) continue;
      shared |= std::any_of(main.reduce_axes.begin(), main.reduce_axes.end(), [&](const te::IterVar& window) {
        return window.extent > *step && te::Mentions(index, window.var);
      });
    }
  }
  return kept && shared;
}

bool IsChannelWindow(const Nest& nest) {
  return nest.main->tag == "convolution" && IsDepthwise(nest) && !SumsForTaps(nest);
}

bool PixelsRepeat(const Nest& nest, int pixels_axis, int64_t period) {
  const te::Operation& main = *nest.main;
  if (!IsChannelWindow(nest)) return false;
  const std::vector<Access> accesses = AccessesOf(nest, main);
  return std::any_of(accesses.begin(), accesses.end(),
                     [&](const Access& access) { return Repeats(access, main.axes[pixels_axis], period); });
}

bool HasManyTaps(const Nest& nest) {
  const double taps = Steps(*nest.main) / Elements(*nest.main);
  return taps >= kManyTaps && taps <= kUnborderedTaps && IsChannelWindow(nest);
}

bool SumsForTaps(const Nest& nest) {
  if (!IsDepthwise(nest)) return false;
  const te::Operation& main = *nest.main;
  const te::IterVar& channels = main.axes[VectorAxisOf(nest)];
  const double taps = Elements(main) / static_cast<double>(channels.extent);
  if (Steps(main) < kLongSum * Elements(main) || taps == 1 || taps > kMostTaps) return false;
  const std::vector<Access> accesses = AccessesOf(nest, main);
  const bool along = std::all_of(accesses.begin(), accesses.end(),
                                 [&](const Access& access) { return Stride(access, channels.var) == 1; });
  return along && std::any_of(accesses.begin(), accesses.end(),
                              [&](const Access& access) { return Reuse(main, access) == taps; });
}

int VectorAxisOf(const Nest& nest) {
  const te::Operation& main = *nest.main;
  if (!IsContraction(main)) return VectorAxis(main, AccessesOf(nest, main));
  // The axis that the root's last dimension walks over.
  const te::Operation& root = *nest.root;
  int last = static_cast<int>(root.axes.size()) - 1;
  while (last > 0 && root.shape[last] == 1) --last;
  if (last < 0) return -1;
  if (const std::optional<WidthVectors> width = WidthVectorsOf(nest)) return width->axis;
  const std::vector<Access> accesses = AccessesOf(nest, main);
  if (!ReusesOperands(main, accesses)) {
    const int axis = VectorAxis(main, accesses);
    if (axis >= 0) return axis;
  }
  if (nest.main == nest.root) return last;
  for (const Attached& attached : nest.attached) {
    if (attached.operation != nest.main) continue;
    for (size_t d = 0; d < attached.match.sources.size(); ++d) {
      const AxisSource& source = attached.match.sources[d];
      if (!source.axes.empty() && source.axes.back() == last && source.divisor == 1) return static_cast<int>(d);
    }
  }
  return -1;
}

std::optional<WidthVectors> WidthVectorsOf(const Nest& nest) {
  const te::Operation& main = *nest.main;
  if (main.tag != "convolution") return std::nullopt;
  const std::vector<Access> accesses = AccessesOf(nest, main);
  if (accesses.size() != 2) return std::nullopt;
  for (const Access& picture : accesses) {
    const Access& taps = &picture == &accesses[0] ? accesses[1] : accesses[0];
    if (!te::IsPadding(*picture.tensor) || picture.tensor->types.size() != 1) continue;
    // Features: kept axes that the kernel alone runs over. What both run over is a group, or a phase.
    int64_t features = 1;
    bool grouped = false;
    for (const te::IterVar& axis : main.axes) {
      if (!DependsOn(taps, axis.var)) continue;
      if (DependsOn(picture, axis.var)) {
        grouped = grouped || axis.extent > kFewFeatures;
      } else {
        features *= axis.extent;
      }
    }
    if (grouped || features > kFewFeatures) continue;
    for (int a = static_cast<int>(main.axes.size()) - 1; a >= 0; --a) {
      const te::Expr& var = main.axes[a].var;
      if (main.axes[a].extent < kWidth || DependsOn(taps, var)) continue;
      for (size_t d = 0; d < picture.indices.size(); ++d) {
        const std::optional<int64_t> step = Coefficient(picture.indices[d], var);
        if (step && *step == 1) return WidthVectors{a, picture.tensor, static_cast<int>(d)};
      }
    }
  }
  return std::nullopt;
}

bool LinesAreFar(const te::Operation& sum, const Access& access) {
  const auto longest = std::max_element(sum.reduce_axes.begin(), sum.reduce_axes.end(),
                                        [](const te::IterVar& a, const te::IterVar& b) { return a.extent < b.extent; });
  if (longest == sum.reduce_axes.end()) return false;
  const std::optional<int64_t> stride = Stride(access, longest->var);
  return stride && *stride * hlo::StorageBytes(access.tensor->types[access.output]) >= kPageBytes;
}

bool SharesAStream(const Nest& nest, int vector_axis, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  if (!IsContraction(main) || vector_axis < 0 || main.reduce_axes.size() != 1) return false;
  const Access* matrix = LargestVectorAccess(nest, main, vector_axis);
  if (matrix == nullptr || Stride(*matrix, main.axes[vector_axis].var) != 1) return false;
  const double reuse = Reuse(main, *matrix);
  const bool wide = main.axes[vector_axis].extent >= 8 * LanesOf(main, target);
  if (reuse <= 1 || !wide || Steps(main) / Elements(main) < 2 * kRowsInABlock) return false;
  if (reuse < kFewRows) return true;
  // Strips of it are read once where registers hold all rows, which pays up to a size, and else once for some of them.
  const double bytes = MatrixBytes(*matrix);
  const auto near = static_cast<double>(reuse <= kManyRows ? target.LevelBytes(1) : target.LevelBytes(0));
  const double most = HasFewRegisters(target) ? kMostOfFarLinesWithFewRegisters : kMostOfFarLines;
  return reuse <= most && bytes > 4 * near && LinesAreFar(main, *matrix);
}

namespace {

// How many rows of a large operand lie beside each other, as the channels of a picture do where its gradient sums over
// pixels: a register tile takes a piece of every line of it. 0: they do not.
int64_t AdjacentRows(const Nest& nest, int vector_axis, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  int64_t rows = 0;
  for (const Access& left : nest.accesses) {
    if (left.reader.get() != &main || DependsOn(left, main.axes[vector_axis].var)) continue;
    if (!IsFar(left, target)) continue;
    for (const te::IterVar& row : main.axes) {
      if (Stride(left, row.var) == 1) rows = std::max(rows, row.extent);
    }
  }
  return rows;
}

}  // namespace

bool RereadsInPlace(const Nest& nest, const te::Operation& sum, const Access& shared, int vector_axis,
                    const machine::Machine& target) {
  const double rows = Reuse(sum, shared);
  if (rows < kRowsOfStrips || rows > kMostRowsOfStrips || shared.tensor->kind != te::OperationKind::kPlaceholder)
    return false;
  if (Stride(shared, sum.axes[vector_axis].var) != 1 || target.vector_bytes < machine::kLineBytes) return false;
  if (AdjacentRows(nest, vector_axis, target) > kMostRows) return false;
  // The strip begins anew in every row of the matrix. Rows that lie a power of two apart find room in few sets.
  const auto terms = static_cast<int64_t>(Steps(sum) / Elements(sum));
  const int64_t apart = hlo::StorageBytes(shared.tensor->types[shared.output]) * shared.tensor->shape.back();
  const int64_t cache = target.LevelBytes(1);
  const int64_t room = cache / std::gcd(apart, std::max<int64_t>(cache / kWaysOfStrips, 1));
  const int64_t pages = terms * std::min(apart, kPageBytes) / kPageBytes;
  return 4 * terms <= 3 * room && pages <= kPagesAtHand &&
         terms * kManyRegisters[0].vectors * target.vector_bytes <= cache / kShareOfStrips;
}

std::optional<DotBlock> DotBlockOf(const Nest& nest, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  const int axis = VectorAxisOf(nest);
  if (!IsContraction(main) || main.tag == te::kPairsTag || axis < 0 || nest.attached.size() > 1) return std::nullopt;
  // Twelve accumulators read too much for what they do: 16 rows take 2.9 ms so in code for AVX2, and 1.7 transposed.
  if (main.reduce_axes.size() != 1 || main.reduce_axes[0].extent < kLongDot || HasFewRegisters(target))
    return std::nullopt;
  const Access* matrix = LargestVectorAccess(nest, main, axis);
  if (matrix == nullptr || Reuse(main, *matrix) > kMostRowsOfDots) return std::nullopt;
  for (const Access& access : AccessesOf(nest, main)) {
    if (Stride(access, main.reduce_axes[0].var) != 1) return std::nullopt;
  }
  DotBlock block{.column_axis = axis};
  for (int a = static_cast<int>(main.axes.size()) - 1; a >= 0 && block.row_axis < 0; --a) {
    if (a != axis && main.axes[a].extent > 1 && !DependsOn(*matrix, main.axes[a].var)) block.row_axis = a;
  }
  if (block.row_axis < 0 || main.axes[axis].extent < LanesOf(main, target)) return std::nullopt;
  // Accumulators that leave room for what they read, in a shape that leaves few rows over and reads little a product.
  const int64_t rows = main.axes[block.row_axis].extent, most = target.vector_registers * 3 / 4;
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t some : {2, 3, 4, 6, 8}) {
    const int64_t part = std::min(some, rows), columns = most / part;
    if (columns < 3) continue;
    const auto computed = static_cast<double>(CeilDiv(rows, part) * part);
    // A vector of each row is read for so many columns, from the second cache where the rows do not fit the first one.
    const double cost = computed * (1 + 1.0 / static_cast<double>(part) + 2.5 / static_cast<double>(columns));
    if (cost >= least) continue;
    least = cost;
    block.rows = part;
    block.columns = columns;
  }
  return block;
}

TiledForm FormOf(const Nest& nest, const machine::Machine& target) {
  const te::Operation& main = *nest.main;
  const int axis = VectorAxisOf(nest);
  if (axis < 0) return TiledForm::kRegisters;
  if (WidthVectorsOf(nest)) return TiledForm::kRegisters;
  if (!IsContraction(main)) {
    // A sum over columns of a wide array reads whole rows; what has windows reuses them instead.
    const int64_t width = main.axes[axis].extent;
    const bool long_sum = Steps(main) / Elements(main) >= 64 && main.tag == "reduce";
    return long_sum && width > 4 * LanesOf(main, target) ? TiledForm::kStreamed : TiledForm::kRegisters;
  }
  const Access* access = LargestVectorAccess(nest, main, axis);
  if (access == nullptr) return TiledForm::kRegisters;
  if (SumsForTaps(nest)) return TiledForm::kBlocked;
  if (IsChannelWindow(nest)) return TiledForm::kRegisters;
  const double reuse = Reuse(main, *access);
  const std::optional<int64_t> stride = Stride(*access, main.axes[axis].var);
  if (DotBlockOf(nest, target)) return TiledForm::kDots;
  if (SharesAStream(nest, axis, target)) return TiledForm::kBlocked;
  if (RereadsInPlace(nest, main, *access, axis, target)) return TiledForm::kRegisters;
  if (reuse >= kFewRows) {
    // Blocks pay where one panel of a register tile's width over the whole sum crowds the cache, or where the operand
    // comes from memory, which likes long runs.
    if (!stride || *stride != 1 || reuse < kManyRows) return TiledForm::kRegisters;
    const double bytes = static_cast<double>(hlo::StorageBytes(access->tensor->types[0]));
    const double sum = Steps(main) / Elements(main);
    const double panel = sum * 2 * static_cast<double>(LanesOf(main, target)) * bytes;
    const double whole = MatrixBytes(*access);
    const bool wide = main.axes[axis].extent >= 4 * LanesOf(main, target);
    const bool across = AdjacentRows(nest, axis, target) > kMostRows;
    const double lines = across ? sum * static_cast<double>(machine::kLineBytes) : 0;
    const bool crowds = panel + lines > static_cast<double>(target.LevelBytes(1)) / 4;
    const bool from_memory = whole > 4 * static_cast<double>(target.LevelBytes(1));
    return (wide || across) && (crowds || from_memory) ? TiledForm::kBlocked : TiledForm::kRegisters;
  }
  if (stride && *stride == 1) {
    // Worth it where the accumulators of a register tile would cut the rows of the matrix into short pieces.
    const bool wide = main.axes[axis].extent >= 8 * LanesOf(main, target);
    return wide && Steps(main) / Elements(main) >= 16 ? TiledForm::kStreamed : TiledForm::kRegisters;
  }
  for (const te::IterVar& reduce : main.reduce_axes) {
    const std::optional<int64_t> along = Stride(*access, reduce.var);
    if (along && *along == 1 && reduce.extent >= LanesOf(main, target)) return TiledForm::kDots;
  }
  return TiledForm::kRegisters;
}

int64_t SumBlock(const Nest& nest, const std::vector<int64_t>& tile, const machine::Machine& target) {
  const int axis = VectorAxisOf(nest);
  if (SharesAStream(nest, axis, target)) {
    const double rows = Reuse(*nest.main, *LargestVectorAccess(nest, *nest.main, axis));
    return rows > kRowsOfShortBlocks ? 2 * kRowsInABlock : kRowsInABlock;
  }
  // So, too, where few pixels share large weights.
  const bool windowed = nest.main->reduce_axes.size() > 1;
  const Access* matrix = windowed && axis >= 0 ? LargestVectorAccess(nest, *nest.main, axis) : nullptr;
  const bool few = matrix != nullptr && Reuse(*nest.main, *matrix) <= kMostOfFarLines;
  if (few && MatrixBytes(*matrix) > 4 * static_cast<double>(target.LevelBytes(1))) return kRowsInABlock;
  const int64_t columns = axis >= 0 ? std::min(tile[axis], nest.main->axes[axis].extent) : 1;
  const int64_t bytes = std::max<int64_t>(4, hlo::StorageBytes(nest.main->types[0]));
  int64_t block = target.LevelBytes(1) / 8 / (columns * bytes);
  // Lines of which each register tile takes a piece stay in the nearest cache until all have.
  const int64_t adjacent = axis >= 0 ? AdjacentRows(nest, axis, target) : 0;
  if (adjacent > kMostRows) block = std::min(block, target.LevelBytes(0) / 2 / (adjacent * bytes));
  return std::clamp<int64_t>(block / 16 * 16, adjacent > kMostRows ? 16 : 32, 512);
}

int64_t PixelsInABlock(const Nest& nest, const std::vector<int64_t>& tile, const machine::Machine& target) {
  const int axis = VectorAxisOf(nest);
  const int64_t adjacent = axis >= 0 ? AdjacentRows(nest, axis, target) : 0;
  if (adjacent <= kMostRows) return 0;
  const int64_t columns = std::min(tile[axis], nest.main->axes[axis].extent);
  const int64_t bytes = std::max<int64_t>(4, hlo::StorageBytes(nest.main->types[0]));
  return static_cast<int64_t>(kShareOfBlocks * static_cast<double>(target.LevelBytes(0))) /
         ((adjacent + columns) * bytes);
}

int64_t LongestEvenBlock(int64_t extent, int64_t block) {
  for (int64_t even = std::min(block, extent); 2 * even > block; --even) {
    if (extent % even == 0) return even;
  }
  return extent;
}

int64_t MostAccumulators(const machine::Machine& target) { return std::max(target.vector_registers - 4, 4); }

bool UnrollsAll(const Nest& nest, const RegisterTile& registers) {
  const te::Operation& main = *nest.main;
  if (main.tag == te::kPairsTag) return false;  // whose steps are several instructions each
  const double taps = Steps(main) / Elements(main);
  const auto at_once = static_cast<double>(registers.planes * registers.rows * registers.vectors);
  const int64_t most = IsChannelWindow(nest) ? kUnborderedTaps : kUnrolledTaps;
  const double products = taps * at_once, instructions = products * (1 + nest.inlined_cost / 2);
  return taps <= static_cast<double>(most) && products <= kUnrolledProducts && instructions <= kUnrolledInstructions;
}

int64_t MostUnrolled(const Nest& nest) { return IsChannelWindow(nest) ? 16 : 4; }

int64_t SumUnroll(const RegisterTile& registers, int64_t extent) {
  for (const int64_t steps : {4, 2}) {
    const int64_t products = registers.planes * registers.rows * registers.vectors;
    if (extent % steps == 0 && extent > steps && steps * products <= kStepsAtOnce) return steps;
  }
  return 1;
}

RegisterTile ChooseRegisterTile(const Nest& nest, const std::vector<int64_t>& tile, const machine::Machine& target,
                                int64_t accumulators) {
  const te::Operation& main = *nest.main;
  RegisterTile registers;
  registers.vector_axis = VectorAxisOf(nest);
  registers.lanes = LanesOf(main, target);
  if (registers.vector_axis < 0) return registers;
  const std::vector<Access> accesses = AccessesOf(nest, main);
  // Rows: the last axis, other than the vectors', along which some operand is reused.
  const auto reused = [&](int a) {
    if (a == registers.vector_axis || main.axes[a].extent == 1 || tile[a] == 1) return false;
    return !IsContraction(main) || std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return !DependsOn(access, main.axes[a].var) && DependsOn(access, main.axes[registers.vector_axis].var);
    });
  };
  for (int a = static_cast<int>(main.axes.size()) - 1; a >= 0; --a) {
    if (!reused(a)) continue;
    if (registers.row_axis < 0 || tile[registers.row_axis] < 3) registers.row_axis = a;
  }
  const int64_t row_extent = registers.row_axis >= 0 ? tile[registers.row_axis] : 1;
  const bool windowed = main.tag == "reduce-window" || Steps(main) < kLongSum * Elements(main) || IsChannelWindow(nest);
  if (!IsContraction(main) || windowed) {
    const int lines = LinesAxis(nest, registers.row_axis);
    if (lines >= 0 && tile[lines] > 1 && tile[lines] <= kLinesAtOnce && IsDepthwise(nest) &&
        KeepsTaps(nest, lines, target)) {
      registers.line_axis = std::exchange(registers.row_axis, lines);
      registers.rows = tile[lines];
      registers.vectors = kTapVectors;
      return registers;
    }
    const bool few = HasFewRegisters(target);
    const bool far = 2 * target.vector_bytes >= machine::kLineBytes && row_extent > (few ? kFewPixels : 1) &&
                     PixelsRepeat(nest, registers.row_axis, few ? kPageBytes : kPageBytes / 2);
    TileOfShortSum(tile[registers.vector_axis], row_extent, accumulators, far, target, registers);
    if (HasManyTaps(nest)) {
      const double kept = Steps(main) / Elements(main) + kRowsBesideTaps + kOtherRegisters;
      registers.vectors = 1;
      registers.rows = EvenRows(row_extent, kept <= target.vector_registers ? kRowsBesideTaps : kRowsOfEachTap);
    }
    return registers;
  }
  const int64_t most = accumulators > 0 ? std::min(accumulators, MostAccumulators(target)) : MostAccumulators(target);
  const auto second_axis = [&](int64_t most_planes) {
    for (int a = static_cast<int>(main.axes.size()) - 1; a >= 0; --a) {
      if (a != registers.row_axis && reused(a) && tile[a] <= most_planes) return a;
    }
    return -1;
  };
  if (SumsForTaps(nest)) {
    registers.plane_axis = second_axis(std::numeric_limits<int64_t>::max());
    TileOfTaps(tile, most, registers);
    return registers;
  }
  const bool streams = SharesAStream(nest, registers.vector_axis, target);
  TileOfProduct(main, accesses, tile[registers.vector_axis], row_extent, most, streams, target, registers);
  const int64_t kept = registers.rows * registers.vectors;
  if (kept < kLatencyAccumulators) {
    registers.plane_axis = second_axis(most / kept);
    if (registers.plane_axis >= 0) registers.planes = tile[registers.plane_axis];
  }
  return registers;
}

}  // namespace smelt::kernels::nests
