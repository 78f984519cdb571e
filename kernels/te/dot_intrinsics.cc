#include "kernels/te/dot_intrinsics.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace smelt::kernels::te {
namespace {

using enum PrimitiveType;

struct KindRow {
  DotKind kind;
  std::string_view name;
  PrimitiveType sum, x, w;
  int64_t depth;
  int64_t shift;  // added to x
};

constexpr KindRow kKinds[] = {
    {DotKind::kUnsignedSigned, "dot_u8s8", kS32, kU8, kS8, 4, 0},
    {DotKind::kShiftedSigned, "dot_s8shifted_s8", kS32, kS8, kS8, 4, 128},
    {DotKind::kSignedUnsigned, "dot_s8u8", kS32, kS8, kU8, 4, 0},
    {DotKind::kOnesSigned, "sum_s8", kS32, kS8, kS8, 4, 0},
    {DotKind::kSigned, "dot_s8s8", kS32, kS8, kS8, 4, 0},
    {DotKind::kBrain, "dot_bf16", kF32, kBF16, kBF16, 2, 0},
};
constexpr int kLanes[] = {4, 8, 16};

absl::Status CheckElements(absl::Span<const Expr> operands, const KindRow& row, bool has_x) {
  const auto of = [](const Expr& address) { return address->buffer->type; };
  if (of(operands[0]) != row.sum || of(operands.back()) != row.w || (has_x && of(operands[1]) != row.x))
    return absl::InvalidArgumentError("operands of other element types than its name says");
  return absl::OkStatus();
}

absl::Status Run(const KindRow& row, int lanes, Arguments arguments) {
  const bool has_x = row.kind != DotKind::kOnesSigned;
  for (int j = 0; j < lanes; ++j) {
    Scalar sum;
    SMELT_RETURN_IF_ERROR(arguments[0].place.Load(j, &sum));
    for (int64_t k = 0; k < row.depth; ++k) {
      Scalar x{.i = 1}, w;
      if (has_x) SMELT_RETURN_IF_ERROR(arguments[1].place.Load(k, &x));
      SMELT_RETURN_IF_ERROR(arguments.back().place.Load(j * row.depth + k, &w));
      if (row.sum == kF32) {
        sum.f = static_cast<float>(sum.f + x.f * w.f);
      } else {
        sum.i += (x.i + row.shift) * w.i;
      }
    }
    SMELT_RETURN_IF_ERROR(arguments[0].place.Store(j, RoundTo(row.sum, sum)));
  }
  return absl::OkStatus();
}

IntrinsicRef MakeEntry(const KindRow& row, int lanes) {
  Intrinsic entry{.name = absl::StrCat(std::string(row.name), "_", lanes)};
  const bool has_x = row.kind != DotKind::kOnesSigned;
  entry.operands = {OperandRole::kUpdate};
  if (has_x) entry.operands.push_back(OperandRole::kRead);
  entry.operands.push_back(OperandRole::kRead);
  entry.type = [&row, has_x](absl::Span<const Expr> operands) -> absl::StatusOr<DataType> {
    SMELT_RETURN_IF_ERROR(CheckElements(operands, row, has_x));
    return DataType{kToken, 1};
  };
  entry.interpret = [&row, lanes](Arguments arguments, absl::Span<Scalar>) { return Run(row, lanes, arguments); };
  return MakeIntrinsic(std::move(entry));
}

absl::Status RunTile(const KindRow& row, Arguments arguments) {
  const auto number = [&](int i) { return arguments[i].lanes[0].i; };
  const int64_t acc_stride = number(3), x_stride = number(4), w_stride = number(5), rows = number(6);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kTileLanes; ++j) {
      Scalar sum;
      SMELT_RETURN_IF_ERROR(arguments[0].place.Load(i * acc_stride + j, &sum));
      for (int64_t k = 0; k < kTileGroups * row.depth; ++k) {
        Scalar x, w;
        SMELT_RETURN_IF_ERROR(arguments[1].place.Load(i * x_stride + k, &x));
        SMELT_RETURN_IF_ERROR(arguments[2].place.Load(k / row.depth * w_stride + j * row.depth + k % row.depth, &w));
        if (row.sum == kF32) {
          sum.f = static_cast<float>(sum.f + x.f * w.f);
        } else {
          sum.i += x.i * w.i;
        }
      }
      SMELT_RETURN_IF_ERROR(arguments[0].place.Store(i * acc_stride + j, RoundTo(row.sum, sum)));
    }
  }
  return absl::OkStatus();
}

bool IsConstantWithin(const Expr& e, int64_t least, int64_t most) {
  int64_t value = 0;
  return IsConstInt(e, &value) && value >= least && value <= most;
}

constexpr int64_t kFar = int64_t{1} << 40;

// Operands from `first` on are strides, and the last one rows.
absl::Status CheckTile(absl::Span<const Expr> operands, size_t first) {
  for (size_t i = first; i + 1 < operands.size(); ++i) {
    if (!IsConstantWithin(operands[i], 1, kFar))
      return absl::InvalidArgumentError("the elements from row to row are constants above 0");
  }
  if (!IsConstantWithin(operands.back(), 1, kTileRows))
    return absl::InvalidArgumentError(absl::StrCat("the rows are a constant from 1 to ", kTileRows));
  return absl::OkStatus();
}

IntrinsicRef MakeTileEntry(const KindRow& row) {
  Intrinsic entry{.name = absl::StrCat("tile_", std::string(row.name))};
  entry.operands = {OperandRole::kUpdate, OperandRole::kRead,  OperandRole::kRead, OperandRole::kValue,
                    OperandRole::kValue,  OperandRole::kValue, OperandRole::kValue};
  entry.type = [&row](absl::Span<const Expr> operands) -> absl::StatusOr<DataType> {
    SMELT_RETURN_IF_ERROR(CheckElements(operands.subspan(0, 3), row, /*has_x=*/true));
    SMELT_RETURN_IF_ERROR(CheckTile(operands, 3));
    return DataType{kToken, 1};
  };
  entry.interpret = [&row](Arguments arguments, absl::Span<Scalar>) { return RunTile(row, arguments); };
  return MakeIntrinsic(std::move(entry));
}

constexpr DotKind kTileKinds[] = {DotKind::kUnsignedSigned, DotKind::kSignedUnsigned, DotKind::kSigned,
                                  DotKind::kBrain};

const KindRow& RowOf(DotKind kind) { return kKinds[static_cast<int>(kind)]; }

}  // namespace

int64_t DepthOf(DotKind kind) { return RowOf(kind).depth; }
std::string_view NameOf(DotKind kind) { return RowOf(kind).name; }

const IntrinsicRef& DotIntrinsic(DotKind kind, int lanes) {
  static const auto* entries = [] {
    auto* all = new std::vector<IntrinsicRef>();
    for (const KindRow& row : kKinds) {
      for (const int count : kLanes) all->push_back(MakeEntry(row, count));
    }
    return all;
  }();
  for (size_t i = 0; i < std::size(kLanes); ++i) {
    if (kLanes[i] == lanes) return (*entries)[static_cast<size_t>(kind) * std::size(kLanes) + i];
  }
  Check(false, "a dot of 4, 8 or 16 lanes");
  return entries->front();
}

const IntrinsicRef& TileDotIntrinsic(DotKind kind) {
  static const auto* entries = [] {
    auto* all = new std::vector<IntrinsicRef>();
    for (const DotKind each : kTileKinds) all->push_back(MakeTileEntry(RowOf(each)));
    return all;
  }();
  for (size_t i = 0; i < std::size(kTileKinds); ++i) {
    if (kTileKinds[i] == kind) return (*entries)[i];
  }
  Check(false, "a tile of bytes or of bf16");
  return entries->front();
}

const IntrinsicRef& TileZero() {
  static const auto* entry = new IntrinsicRef(
      MakeIntrinsic({.name = "tile_zero",
                     .operands = {OperandRole::kWrite, OperandRole::kValue, OperandRole::kValue},
                     .type = [](absl::Span<const Expr> operands) -> absl::StatusOr<DataType> {
                       const PrimitiveType type = operands[0]->buffer->type;
                       if (type != kS32 && type != kF32)
                         return absl::InvalidArgumentError("a tile of sums is of s32 or f32");
                       SMELT_RETURN_IF_ERROR(CheckTile(operands, 1));
                       return DataType{kToken, 1};
                     },
                     .interpret =
                         [](Arguments arguments, absl::Span<Scalar>) {
                           const int64_t stride = arguments[1].lanes[0].i, rows = arguments[2].lanes[0].i;
                           for (int64_t i = 0; i < rows; ++i) {
                             for (int64_t j = 0; j < kTileLanes; ++j)
                               SMELT_RETURN_IF_ERROR(arguments[0].place.Store(i * stride + j, Scalar()));
                           }
                           return absl::OkStatus();
                         }}));
  return *entry;
}

const IntrinsicRef& Interleave() {
  static const auto* entry = new IntrinsicRef(MakeIntrinsic(
      {.name = "interleave",
       .operands = {OperandRole::kWrite, OperandRole::kRead, OperandRole::kValue, OperandRole::kValue,
                    OperandRole::kValue, OperandRole::kValue},
       .type = [](absl::Span<const Expr> operands) -> absl::StatusOr<DataType> {
         if (operands[0]->buffer->type != operands[1]->buffer->type)
           return absl::InvalidArgumentError("buffers of different element types");
         if (!IsConstantWithin(operands[2], 1, kFar) || !IsConstantWithin(operands[3], 1, 64) ||
             !IsConstantWithin(operands[4], 1, 8) || !IsConstantWithin(operands[5], 1, kFar))
           return absl::InvalidArgumentError("strides, lanes (up to 64) and depth (up to 8) are constants above 0");
         return DataType{kToken, 1};
       },
       .interpret =
           [](Arguments arguments, absl::Span<Scalar>) {
             const int64_t stride = arguments[2].lanes[0].i, lanes = arguments[3].lanes[0].i,
                           depth = arguments[4].lanes[0].i, step = arguments[5].lanes[0].i;
             for (int64_t j = 0; j < lanes; ++j) {
               for (int64_t k = 0; k < depth; ++k) {
                 Scalar value;
                 SMELT_RETURN_IF_ERROR(arguments[1].place.Load(k * stride + j * step, &value));
                 SMELT_RETURN_IF_ERROR(arguments[0].place.Store(j * depth + k, value));
               }
             }
             return absl::OkStatus();
           }}));
  return *entry;
}

}  // namespace smelt::kernels::te
