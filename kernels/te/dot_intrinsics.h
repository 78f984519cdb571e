// Instructions that multiply short numbers in groups and add them up in wide lanes, as intrinsics.
//
//   std::vector<Expr> operands;  // addresses: of the sums, of a group, of a vector of groups
//   Expr call = Call(DotIntrinsic(DotKind::kUnsignedSigned, 16), operands);
//
// acc[j] += sum over k < depth of x[k] * w[j][k], for j < lanes: `acc` is memory of the wide type, `x` the group that
// all lanes share, `w` a group a lane, one after the other. Integers wrap as they do in HLO; exact. bf16: products are
// exact, sums are rounded to f32 one by one, in the order of k; machines flush subnormal numbers and may keep more
// bits.
#pragma once

#include <cstdint>

#include "kernels/te/intrinsic.h"

namespace smelt::kernels::te {

enum class DotKind : uint8_t {
  kUnsignedSigned,  // u8 x, s8 w
  kShiftedSigned,   // s8 x and s8 w: what is multiplied with w is x + 128
  kSignedUnsigned,  // s8 x, u8 w
  kOnesSigned,      // s8 w alone: its sums
  kSigned,          // s8 x, s8 w
  kBrain,           // bf16 x and w, in groups of two; all others in groups of four
};

int64_t DepthOf(DotKind kind);          // of a group
std::string_view NameOf(DotKind kind);  // of the intrinsic, without its lanes

// Operands: acc (kUpdate), x (kRead) and w (kRead); of kOnesSigned acc and w. One entry a kind and number of lanes, of
// the name "dot_u8s8_16" for one; lanes are 4, 8 or 16.
const IntrinsicRef& DotIntrinsic(DotKind kind, int lanes);

// Groups of a row of a tile, and lanes: of the registers that matrix units have, 64 bytes wide.
inline constexpr int64_t kTileGroups = 16;
inline constexpr int64_t kTileLanes = 16;
// Most rows of a tile.
inline constexpr int64_t kTileRows = 16;

// A tile at once, as matrix units do: acc[i][j] += sum over k < 16 * depth of x[i][k] * w[k / depth][j][k % depth], for
// i < rows and j < 16. Operands: acc (kUpdate), x, w (kRead), the elements from one row to the next of acc, x and w,
// and the rows, 1 to 16; all but the first three are constants. Of kUnsignedSigned, kSignedUnsigned, kSigned and
// kBrain; names "tile_dot_u8s8", "tile_dot_s8u8", "tile_dot_s8s8" and "tile_dot_bf16".
const IntrinsicRef& TileDotIntrinsic(DotKind kind);

// tile_zero(acc, stride, rows): acc[i][j] = 0 for i < rows and j < 16, of s32 or f32.
const IntrinsicRef& TileZero();

// interleave(to, from, stride, lanes, depth, step): to[j * depth + k] = from[k * stride + j * step] for j < lanes and
// k < depth, of any element type. Rows become groups (step 1), or groups are gathered (stride 1).
const IntrinsicRef& Interleave();

}  // namespace smelt::kernels::te
