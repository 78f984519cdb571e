// Copies of boxes: the instructions, and by a small interpreter what they move.
#include "vdla/lower/copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"

namespace smelt::vdla::lower {
namespace {

using isa::Instruction;
using testing::HasSubstr;
using Dim = CopyBox::Dim;

constexpr int32_t kUntouched = -1000, kPadding = -7;

std::vector<Instruction> Copies(const CopyBox& box) {
  std::vector<Instruction> instructions;
  const absl::Status status = AppendCopies(box, &instructions);
  EXPECT_TRUE(status.ok()) << status;
  return instructions;
}

// What the loads put where: the element of DRAM, or padding.
std::vector<int32_t> Loaded(const std::vector<Instruction>& loads, size_t elements) {
  std::vector<int32_t> sram(elements, kUntouched);
  for (const Instruction& i : loads) {
    const int64_t rows = static_cast<int64_t>(isa::SramRowsOf(i)),
                  row = static_cast<int64_t>(isa::SramRowElementsOf(i));
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t x = 0; x < row; ++x) {
        const int64_t from_y = y - i.y_pad_before, from_x = x - i.x_pad_before;
        const bool inside = from_y >= 0 && from_y < i.y_size && from_x >= 0 && from_x < i.x_size;
        sram.at(i.sram_base + y * row + x) =
            inside ? static_cast<int32_t>(i.dram_base + from_y * i.x_stride + from_x) : kPadding;
      }
    }
  }
  return sram;
}

// The same by the definition of a box.
void Fill(const CopyBox& box, size_t depth, int64_t sram, int64_t dram, bool padding, std::vector<int32_t>& to) {
  if (depth == box.dims.size()) {
    to.at(sram) = padding ? kPadding : static_cast<int32_t>(dram);
    return;
  }
  const Dim& dim = box.dims[depth];
  for (int64_t i = -dim.before; i < dim.size + dim.after; ++i)
    Fill(box, depth + 1, sram + (i + dim.before) * dim.sram_stride, dram + i * dim.dram_stride,
         padding || i < 0 || i >= dim.size, to);
}

TEST(Copies, APaddedTileIsOneInstruction) {
  const std::vector<Instruction> loads = Copies(
      {.dram = 100,
       .dims = {{.before = 1, .size = 5, .sram_stride = 9, .dram_stride = 20}, {.before = 1, .size = 7, .after = 1}}});
  ASSERT_EQ(loads.size(), 1u);
  const Instruction expected{.opcode = isa::Opcode::kLoad,
                             .memory = isa::Memory::kInp,
                             .dram_base = 100,
                             .y_size = 5,
                             .x_size = 7,
                             .x_stride = 20,
                             .y_pad_before = 1,
                             .x_pad_before = 1,
                             .x_pad_after = 1};
  EXPECT_TRUE(loads[0] == expected);
}

TEST(Copies, DimensionsThatContinueEachOtherAreOne) {
  const std::vector<Instruction> loads = Copies({.dims = {{.size = 4, .sram_stride = 60, .dram_stride = 60},
                                                          {.size = 6, .sram_stride = 10, .dram_stride = 10},
                                                          {.size = 10}}});
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(loads[0].x_size, 240u);
  EXPECT_EQ(loads[0].y_size, 1u);
}

TEST(Copies, AThirdDimensionIsAnInstructionAStep) {
  EXPECT_EQ(Copies({.dims = {{.size = 3, .sram_stride = 20, .dram_stride = 1000},
                             {.size = 4, .sram_stride = 5, .dram_stride = 50},
                             {.size = 5}}})
                .size(),
            3u);
}

TEST(Copies, ColumnsThatAreSkippedAreRowsOfOneElement) {
  const std::vector<Instruction> loads = Copies({.dims = {{.size = 7, .sram_stride = 1, .dram_stride = 2}}});
  ASSERT_EQ(loads.size(), 1u);
  EXPECT_EQ(loads[0].y_size, 7u);
  EXPECT_EQ(loads[0].x_size, 1u);
  EXPECT_EQ(loads[0].x_stride, 2u);
}

TEST(Copies, MoreRowsOfPaddingThanTheEncodingHasAreApart) {
  const std::vector<Instruction> loads =
      Copies({.dims = {{.before = 20, .size = 2, .after = 16, .sram_stride = 3, .dram_stride = 3}, {.size = 3}}});
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_EQ(loads[0].y_size, 0u);
  EXPECT_EQ(isa::SramRowsOf(loads[0]) * isa::SramRowElementsOf(loads[0]), 60u);
  EXPECT_EQ(loads[2].sram_base, 66u);
}

TEST(Copies, NothingToMoveIsNoInstruction) {
  EXPECT_TRUE(Copies({.dims = {{.size = 0}}}).empty());
  EXPECT_TRUE(Copies({.store = true, .dims = {{.size = 4, .sram_stride = 2, .dram_stride = 9}, {.size = 0}}}).empty());
}

TEST(Copies, WhatTheEncodingCannotSayIsRefused) {
  std::vector<Instruction> out;
  EXPECT_THAT(std::string(AppendCopies({.dims = {{.before = 16, .size = 2}}}, &out).message()),
              HasSubstr("16 elements of padding on one side"));
  EXPECT_THAT(
      std::string(
          AppendCopies({.dims = {{.size = 2, .sram_stride = 3, .dram_stride = 1 << 20}, {.size = 3}}}, &out).message()),
      HasSubstr("1048576 elements apart"));
  EXPECT_THAT(std::string(AppendCopies({.store = true, .dims = {{.before = 1, .size = 2}}}, &out).message()),
              HasSubstr("a store with padding"));
}

TEST(Copies, RandomBoxesMoveWhatTheySay) {
  for (int seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
    CopyBox box{.sram = below(5), .dram = 5000};
    const int64_t rank = 1 + below(4);
    int64_t sram = 1, dram = 1;
    for (int64_t d = 0; d < rank; ++d) {
      Dim dim{.before = below(2) * below(4), .size = below(6), .after = below(2) * below(4)};
      if (below(3) == 0) dim.before = dim.after = 0;
      if (below(3) == 0) dram += below(4);  // a gap between rows
      if (below(6) == 0) sram += below(3);
      dim.sram_stride = sram;
      dim.dram_stride = dram;
      sram *= std::max<int64_t>(1, dim.before + dim.size + dim.after);
      dram *= std::max<int64_t>(1, dim.size);
      box.dims.insert(box.dims.begin(), dim);
    }
    std::vector<int32_t> expected(sram + 100, kUntouched);
    Fill(box, 0, box.sram, box.dram, false, expected);
    EXPECT_TRUE(Loaded(Copies(box), expected.size()) == expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace smelt::vdla::lower
