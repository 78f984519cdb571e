#include "kernels/nests/access.h"

#include <gtest/gtest.h>

namespace smelt::kernels::nests {
namespace {

// What is read of every second pixel of a picture, all of which are one dimension; lines of `width` of them are taken.
Access PixelsOfLines(int64_t width) {
  const te::Tensor picture = te::Placeholder("picture", {14, 14, 256}, te::PrimitiveType::kF32);
  const te::Tensor taken = te::Compute("taken", {7 * width, 256}, [&](te::Indices i) {
    const te::Expr line = te::IntConst(te::kIndex, width), two = te::IntConst(te::kIndex, 2);
    return picture(te::FloorDiv(i[0], line) * two, te::FloorMod(i[0], line) * two, i[1]);
  });
  return DirectReads(taken.op).front();
}

TEST(Access, OfTwoDimensionsInOneHasAFirstStrideAndNoOther) {
  const Access access = PixelsOfLines(7);
  const te::Expr pixel = access.reader->axes[0].var, feature = access.reader->axes[1].var;
  EXPECT_EQ(Stride(access, pixel), std::nullopt);
  EXPECT_EQ(FirstStride(access, pixel), 2 * 256);
  EXPECT_EQ(FirstStride(access, feature), 1);
}

TEST(Access, OfDataHasNone) {
  const te::Tensor table = te::Placeholder("table", {10, 4}, te::PrimitiveType::kF32);
  const te::Tensor position = te::Placeholder("position", {6}, te::PrimitiveType::kS64);
  const te::Tensor taken =
      te::Compute("taken", {6, 4}, [&](te::Indices i) { return table(te::Cast(te::kIndex, position(i[0])), i[1]); });
  for (const Access& access : DirectReads(taken.op)) {
    if (access.tensor != table.op) continue;
    EXPECT_EQ(FirstStride(access, access.reader->axes[0].var), std::nullopt);
    EXPECT_EQ(FirstStride(access, access.reader->axes[1].var), 1);
  }
}

}  // namespace
}  // namespace smelt::kernels::nests
