// The register tile of a reduction over vectors of kept elements: which axes it spans and how many accumulators it
// holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/nests/structure.h"
#include "kernels/schedule/schedule.h"
#include "machine/machine.h"

namespace smelt::kernels::nests {

// Bytes from one translation of addresses to the next.
inline constexpr int64_t kPageBytes = 4096;

struct RegisterTile {
  int vector_axis = -1;  // axis of the main operation that vectors run over
  int row_axis = -1;     // axis of the accumulators' rows; -1: one row
  int plane_axis = -1;   // a second axis of rows where one alone leaves registers empty; -1: none
  int line_axis = -1;    // the innermost loop runs along it, and what it does not change stays in registers; -1: none
  int64_t lanes = 1;
  int64_t vectors = 1;
  int64_t rows = 1;
  int64_t planes = 1;  // all of plane_axis, or two at a time where the sum is cut into blocks
  int64_t width() const { return lanes * vectors; }
};

// How a nest of kind kTiled is computed.
enum class TiledForm : uint8_t {
  kRegisters,  // accumulators in registers over the whole sum
  kBlocked,    // the shared operand outgrows the caches, or streams by: the sum is cut into blocks, see blocked.cc
  kStreamed,   // one row, a window or a sum of columns reads a matrix along the vectors: accumulators in cache
  kDots,       // few rows share a matrix that lies along the sum: vectors over the sum
};

// A convolution to very few features, such as the channels of a picture: vectors run along the width, and the padded
// input, a stage of its own, is stored with that dimension innermost.
struct WidthVectors {
  int axis = -1;  // of the main operation
  te::OperationRef input;
  int dimension = -1;  // of the input
};
std::optional<WidthVectors> WidthVectorsOf(const Nest& nest);

// The dot products in registers at a time where a few rows share a matrix that lies along the sum (kDots).
struct DotBlock {
  int row_axis = -1;     // of the main operation
  int column_axis = -1;  // along the matrix's rows
  int64_t rows = 1;
  int64_t columns = 1;
};
// Nothing where one result at a time is as good: a single row, short sums; or where they are too many.
std::optional<DotBlock> DotBlockOf(const Nest& nest, const machine::Machine& target);

// The main operation's axis that the nest's root stores contiguously; for sums that are no contraction the axis along
// which operands are contiguous.
int VectorAxisOf(const Nest& nest);
TiledForm FormOf(const Nest& nest, const machine::Machine& target);
// Accumulators of a contraction that leave the machine's registers room for operands: 28 of 32, 12 of 16. More
// rows at once are fewer passes over a strip that only the second cache holds.
int64_t MostAccumulators(const machine::Machine& target);
// Chooses for a tile: extents over the main operation's axes. `accumulators`: at most so many of a contraction's, where
// the compiler has no room for MostAccumulators; 0: as many as that.
RegisterTile ChooseRegisterTile(const Nest& nest, const std::vector<int64_t>& tile, const machine::Machine& target,
                                int64_t accumulators = 0);
// Whether all steps of a short sum are unrolled.
bool UnrollsAll(const Nest& nest, const RegisterTile& registers);
// Most steps of the innermost sum loop that are unrolled whole where the others are not: a line of a window's taps,
// whose neighbours share pixels.
int64_t MostUnrolled(const Nest& nest);
// How many steps of a contraction's innermost sum loop one iteration of it takes: enough multiply-adds to hide what the
// loop itself costs. Divides the extent.
int64_t SumUnroll(const RegisterTile& registers, int64_t extent);

// Whether each step of the longest sum reads another page. The processor keeps the addresses of few pages at hand, and
// lines that are a power of two apart drive each other out of the nearest cache.
bool LinesAreFar(const te::Operation& sum, const Access& access);

// Whether a few examples, more than one, share a matrix that lies along the vectors: it streams by in short blocks of
// its rows (kBlocked), each of which is read in order by all of them, and is not packed. Two to four of them always do;
// more where strips of the matrix would lie in as many pages as it has rows.
bool SharesAStream(const Nest& nest, int vector_axis, const machine::Machine& target);

// Whether passes of register tiles over an operand that 96 rows, or pixels, and more share read it where it lies: a
// strip of it, over the whole sum, stays near from pass to pass, so that it is neither cut into blocks nor copied.
bool RereadsInPlace(const Nest& nest, const te::Operation& sum, const Access& shared, int vector_axis,
                    const machine::Machine& target);

// How much of the innermost reduce axis one block of kBlocked takes.
int64_t SumBlock(const Nest& nest, const std::vector<int64_t>& tile, const machine::Machine& target);
// Where that is a sum over pixels, each of which has a line of rows and one of columns: pixels whose lines all stay in
// the nearest cache while every register tile takes its piece of them. 0 for other sums.
int64_t PixelsInABlock(const Nest& nest, const std::vector<int64_t>& tile, const machine::Machine& target);
// The longest part of a sum, of at most `block` terms and not much less, that divides it; the sum itself where there is
// none.
int64_t LongestEvenBlock(int64_t extent, int64_t block);

// A contraction all of whose operands run along the vectors: nothing is shared between channels.
bool IsDepthwise(const Nest& nest);
// Such a one that slides over a picture. Neighbouring results share what they read, however many taps there are.
bool IsChannelWindow(const Nest& nest);
// The axis of the lines that a depthwise window slides over, given that of a line's pixels; -1: there is one line.
int LinesAxis(const Nest& nest, int pixels_axis);
// Whether the lines along the axis overlap in what they read, and a register tile of a few lines, two vectors wide,
// leaves room for all taps.
bool KeepsTaps(const Nest& nest, int lines_axis, const machine::Machine& target);
// Whether neighbouring results of such a window along the axis read pixels a multiple of `period` bytes apart. With a
// page, or half of one, few sets of the nearest cache hold a channel of all pixels, and drop a line soon.
bool PixelsRepeat(const Nest& nest, int pixels_axis, int64_t period);
// Whether such a window, unrolled whole, has so many taps that those of one vector of channels at most stay in
// registers.
bool HasManyTaps(const Nest& nest);
// Most lines of a tile of such a window that is computed in register tiles of all of them, whose taps stay where they
// are while they move along the lines. A higher tile is computed line by line.
inline constexpr int64_t kLinesAtOnce = 3;
// Such a long sum with few results a channel, the taps of a window: the gradient of depthwise weights. Registers hold
// all taps of a few vectors of channels, so that each pixel is read for all of them at once (kBlocked).
bool SumsForTaps(const Nest& nest);

// The read of the largest operand among those that depend on the vector axis and on the sum, linearly on the first if
// there is such a one; null where there is none. It points into the nest.
const Access* LargestVectorAccess(const Nest& nest, const te::Operation& contraction, int vector_axis);

// Times that each element of the read is used.
double Reuse(const te::Operation& operation, const Access& access);

}  // namespace smelt::kernels::nests
