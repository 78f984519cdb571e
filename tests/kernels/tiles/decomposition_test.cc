// Default schedules feed every thread, and copy each operand at most once a call. No clock: see bench/decomposition.cc
// for the whole table.
#include "kernels/tiles/decomposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/contractions.h"
#include "hlo/text/parser.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/panel.h"
#include "kernels/templates/parallel_pieces.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"

namespace smelt::kernels::nests {
namespace {

using bench::Contraction;
using bench::kContractions;

machine::Machine MachineWith(int threads, int64_t l2_bytes) {
  machine::Machine machine;
  machine.threads = threads;
  machine.levels[1].bytes = l2_bytes;
  return machine;
}

Structure StructureOf(std::string_view module) {
  return AnalyseStructure(te::FromHlo(*hlo::ParseModule(module).value()->entry()).value());
}
Structure StructureOf(const Contraction& layer) { return StructureOf(bench::HloText(layer)); }

// `known`: the second parameter's values are known before the call.
absl::StatusOr<schedule::Schedule> ScheduleDefault(const Contraction& layer, const machine::Machine& machine,
                                                   bool known) {
  const Structure structure = StructureOf(layer);
  const std::vector<int64_t> tile = PreferredTiles(structure.main_nest(), machine).front();
  ScheduleOptions options;
  if (known) options.known.insert(structure.graph.inputs[1].op.get());
  return ScheduleStructure(structure, tile, machine, options);
}
absl::StatusOr<ir::Function> LowerDefault(const Contraction& layer, const machine::Machine& machine,
                                          bool known = false) {
  const absl::StatusOr<schedule::Schedule> schedule = ScheduleDefault(layer, machine, known);
  if (!schedule.ok()) return schedule.status();
  return lower::Lower(*schedule, {.vector_bytes = machine.vector_bytes});
}

class DefaultSchedule : public ::testing::TestWithParam<Contraction> {};

TEST_P(DefaultSchedule, FeedsEveryThreadAndPacksOnce) {
  for (const int64_t l2_bytes : {1 << 20, 2 << 20}) {
    for (const int threads : {1, 2, 3, 4, 5, 6, 7, 8, 13, 16}) {
      if (l2_bytes > 1 << 20 && threads != 2 && threads != 8) continue;
      const absl::StatusOr<ir::Function> function = LowerDefault(GetParam(), MachineWith(threads, l2_bytes));
      ASSERT_TRUE(function.ok()) << function.status();
      const Decomposition parts = Decompose(*function, threads);
      EXPECT_GE(parts.balance, threads <= 8 ? 0.9 : 0.8) << threads << " threads, L2 of " << l2_bytes;
      EXPECT_LE(parts.packed_share, 1.05) << threads << " threads, L2 of " << l2_bytes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DefaultSchedule, ::testing::ValuesIn(kContractions),
                         [](const auto& info) { return std::string(info.param.name); });

// Phases that store the panel of the second parameter, and whether each of them does nothing else.
int PackingPhases(const ir::Function& function) {
  const std::string operand = function.arguments[1]->name;
  const std::string panel = operand + ".shared";
  int packing = 0;
  for (const ir::Phase& phase : function.phases) {
    bool copies = false;
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& stmt) {
      copies |= stmt.kind == ir::StmtKind::kStore && stmt.buffer->name == panel;
    });
    if (!copies) continue;
    ++packing;
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& stmt) {
      if (stmt.kind != ir::StmtKind::kStore) return;
      EXPECT_EQ(stmt.buffer->name, panel);
      te::Visit(stmt.value, [&](const te::Expr& e) {
        EXPECT_TRUE(e->kind != te::ExprKind::kLoad || e->buffer->name == operand) << e->buffer->name;
      });
    });
  }
  return packing;
}

// Four strips of 32 channels: four threads pack one each, eight share the rows of each strip and pack them together.
TEST(DefaultSchedule, PackingIsAPhaseOfItsOwnWhereThreadsShareAPanelOrItIsKnown) {
  const Contraction layer{"c", bench::kConvolution, {9, 64, 128, 3, 1}};
  for (const auto& [threads, known, phases] : {std::tuple(1, false, 0), {4, false, 0}, {8, false, 1}, {4, true, 1}}) {
    const absl::StatusOr<ir::Function> function = LowerDefault(layer, MachineWith(threads, 1 << 20), known);
    ASSERT_TRUE(function.ok()) << function.status();
    EXPECT_EQ(PackingPhases(*function), phases) << threads << known;
    EXPECT_EQ(Decompose(*function, threads).packed_share, 1) << threads;
  }
}

// 9 MB of weights for 128 rows: writing them to memory and reading them again would take as long as the sums.
TEST(DefaultSchedule, LargeWeightsOfFewRowsArePackedBesideTheirBlocksUnlessTheyAreKnown) {
  const Contraction layer{"ffn2", bench::kProduct, {128, 768, 3072, 1}};
  for (const int threads : {1, 2, 8}) {
    const machine::Machine machine = MachineWith(threads, 1 << 20);
    for (const bool known : {false, true}) {
      const absl::StatusOr<ir::Function> function = LowerDefault(layer, machine, known);
      ASSERT_TRUE(function.ok()) << function.status();
      EXPECT_EQ(PackingPhases(*function), known ? 1 : 0) << threads;
      EXPECT_EQ(Decompose(*function, threads).packed_share, 1) << threads;
    }
  }
}

// Rows a page apart lie in one set of the nearest cache, which holds eight lines.
TEST(DefaultSchedule, RowsOfOneSetAreFewWithManyVectorsEach) {
  const auto registers = [&](int64_t rows, int64_t columns, int64_t terms, int threads) {
    const Structure structure = StructureOf({"rows", bench::kProduct, {rows, columns, terms, 1}});
    const machine::Machine machine = MachineWith(threads, 1 << 20);
    const RegisterTile tile = ChooseRegisterTile(structure.main_nest(), {rows, columns}, machine);
    return absl::StrCat(tile.rows, "x", tile.vectors);
  };
  EXPECT_EQ(registers(1024, 1024, 1024, 1), "6x4");
  EXPECT_EQ(registers(128, 768, 3072, 2), "6x4");
  EXPECT_EQ(registers(128, 768, 768, 1), "13x2") << "four rows share a set";
  EXPECT_EQ(registers(128, 768, 3072, 8), "13x2") << "twelve strips are too few for eight threads";
}

// A block of the sum reads its strips of packed weights one after the other, and the next block what follows them.
TEST(DefaultSchedule, StripsOfABlockOfKnownWeightsLieTogether) {
  const auto layout = [](const Contraction& layer) {
    const absl::StatusOr<schedule::Schedule> schedule = ScheduleDefault(layer, MachineWith(1, 1 << 20), true);
    return schedule.ok() ? schedule->ToString() : schedule.status().ToString();
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(layout({"C10", bench::kConvolution, {14, 256, 512, 3, 2}}),
              HasSubstr("transform_layout p1.shared 0:1 1:1 2:64 3:32 2:0 3:0\n"));
  EXPECT_THAT(layout({"FFN1", bench::kProduct, {128, 3072, 768, 1}}),
              HasSubstr("transform_layout p1.shared 0:64 1:32 0:0 1:0\n"));
  EXPECT_THAT(layout({"uneven", bench::kConvolution, {14, 300, 512, 3, 2}}),
              HasSubstr("transform_layout p1.shared 3:32 0:1 1:1 2:1 3:0\n"));
}

// Lines of a small depthwise window that overlap share what they read, and its taps stay where they are, where there
// are enough registers.
TEST(DefaultSchedule, LinesOfADepthwiseLayerGoAlongThePictureTogether) {
  const auto registers = [](int64_t size, int64_t channels, int64_t taps, int64_t stride, int vector_registers) {
    machine::Machine machine = MachineWith(1, 1 << 20);
    machine.vector_registers = vector_registers;
    const Structure structure = StructureOf({"D", bench::kDepthwise, {size, channels, channels, taps, stride}});
    const Nest& nest = structure.main_nest();
    const RegisterTile tile = ChooseRegisterTile(nest, PreferredTiles(nest, machine).front(), machine);
    return absl::StrCat(tile.rows, "x", tile.vectors, tile.line_axis >= 0 ? " along a line" : "");
  };
  EXPECT_EQ(registers(56, 128, 3, 1, 32), "3x2 along a line");
  EXPECT_EQ(registers(56, 256, 3, 2, 32), "3x2 along a line") << "one of three lines is shared";
  EXPECT_EQ(registers(7, 576, 3, 1, 32), "4x2") << "two of nine lines would lie beyond the picture";
  EXPECT_EQ(registers(56, 128, 3, 3, 32), "4x2") << "no line is shared";
  EXPECT_EQ(registers(56, 128, 5, 1, 32), "2x1") << "25 taps of one vector stay, and leave room for two results";
  EXPECT_EQ(registers(56, 128, 3, 1, 16), "4x2");
  EXPECT_EQ(registers(56, 128, 5, 1, 16), "4x1") << "each tap is read anew for four results";
}

// Where pixels lie in few sets of the nearest cache, lines of it are used up by four vectors of channels at once.
TEST(DefaultSchedule, PixelsOfADepthwiseLayerThatShareSetsTakeFourVectorsOfChannels) {
  const auto chosen = [](int64_t size, int64_t channels, int64_t stride, int vector_registers) {
    machine::Machine machine = MachineWith(1, 1 << 20);
    machine.vector_registers = vector_registers;
    machine.vector_bytes = vector_registers * 2;
    const Structure structure = StructureOf({"D", bench::kDepthwise, {size, channels, channels, 3, stride}});
    const Nest& nest = structure.main_nest();
    const std::vector<int64_t> tile = PreferredTiles(nest, machine).front();
    const RegisterTile registers = ChooseRegisterTile(nest, tile, machine);
    return absl::StrCat(absl::StrJoin(tile, "x"), " by ", registers.rows, "x", registers.vectors);
  };
  EXPECT_EQ(chosen(7, 1024, 1, 32), "1x7x4x128 by 4x4");
  EXPECT_EQ(chosen(14, 1024, 1, 32), "1x14x4x128 by 4x4") << "though lines would go together";
  EXPECT_EQ(chosen(14, 512, 2, 32), "1x7x4x128 by 4x4") << "every other pixel";
  EXPECT_EQ(chosen(7, 512, 1, 32), "1x7x4x128 by 4x4") << "half of the sets, and lines do not go together";
  EXPECT_EQ(chosen(14, 512, 1, 32), "1x3x14x32 by 3x2") << "half of the sets, and they do";
  EXPECT_EQ(chosen(7, 960, 1, 32), "1x4x7x64 by 4x2");
  EXPECT_EQ(chosen(14, 1024, 1, 16), "1x4x14x64 by 2x4");
  EXPECT_EQ(chosen(7, 512, 1, 16), "1x4x7x32 by 4x2");
  EXPECT_EQ(chosen(5, 1024, 1, 16), "1x4x5x32 by 3x2") << "few pixels";
}

// Lines of a cache count, not elements.
TEST(DefaultSchedule, PixelsOfDoublesThatShareSetsTakeFewOfAllLines) {
  const Structure structure = StructureOf(
      "HloModule m\nENTRY e {\n  x = f64[1,7,7,512] parameter(0)\n  w = f64[3,3,1,512] parameter(1)\n  ROOT r = "
      "f64[1,7,7,512] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
      "feature_group_count=512\n}");
  EXPECT_THAT(PreferredTiles(structure.main_nest(), MachineWith(1, 1 << 20)).front(),
              ::testing::ElementsAre(1, 7, 4, 64));
}

// A strip over the whole sum that the second cache holds from pass to pass is read where it lies.
TEST(DefaultSchedule, StripsThatStayNearAreReadInPlace) {
  const auto form = [](int64_t rows, int64_t columns, int64_t terms, int vector_bytes) {
    machine::Machine machine = MachineWith(1, 1 << 20);
    machine.vector_bytes = vector_bytes;
    const Structure structure = StructureOf({"rows", bench::kProduct, {rows, columns, terms, 1}});
    const Nest& nest = structure.main_nest();
    const RegisterTile tile = ChooseRegisterTile(nest, PreferredTiles(nest, machine).front(), machine);
    const Panel panel = PanelOf(structure, nest, *nest.main, tile, /*known=*/{}, machine);
    return absl::StrCat(FormOf(nest, machine) == TiledForm::kRegisters ? "whole" : "blocks",
                        panel.kind == Panel::Kind::kNone ? "" : ", packed");
  };
  EXPECT_EQ(form(128, 768, 768, 64), "whole");
  EXPECT_EQ(form(80, 768, 768, 64), "whole, packed") << "too few passes for what they read from memory";
  EXPECT_EQ(form(512, 768, 768, 64), "whole, packed") << "a copy costs little beside so many passes";
  EXPECT_EQ(form(128, 768, 768, 32), "whole, packed") << "short runs of each row";
  EXPECT_EQ(form(128, 1024, 768, 64), "whole, packed") << "rows a page apart crowd few sets";
  EXPECT_EQ(form(128, 1000, 6000, 64), "blocks, packed") << "more pages than are at hand";
}

// A short window over a sequence goes through it in the order of memory, a long one keeps its taps near.
TEST(DefaultSchedule, AFewTapsGoAlongASequenceWithAllChannels) {
  const auto tile = [](int64_t taps) {
    const std::string text =
        absl::StrCat("HloModule m\nENTRY e {\n  x = f32[2,2048,1024] parameter(0)\n  w = f32[", taps,
                     ",1,1024] parameter(1)\n  ROOT r = f32[2,2048,1024] convolution(x, w), window={size=", taps,
                     " pad=", taps - 1, "_0}, dim_labels=b0f_0io->b0f, feature_group_count=1024\n}");
    const Structure structure = StructureOf(text);
    EXPECT_EQ(FormOf(structure.main_nest(), MachineWith(1, 1 << 20)), TiledForm::kRegisters);
    return PreferredTiles(structure.main_nest(), MachineWith(1, 1 << 20)).front();
  };
  EXPECT_THAT(tile(4), ::testing::ElementsAre(1, 64, 1024));
  EXPECT_LT(tile(31).back(), 1024);
}

// The gradient of depthwise weights reads each pixel once for all taps, which stand in registers, and needs no bordered
// copy of the picture; its sums go through memory in order.
TEST(DefaultSchedule, TapsOfADepthwiseGradientStandInRegisters) {
  const auto structure = [](absl::string_view taps, absl::string_view padding) {
    const std::string text = absl::StrCat(
        "HloModule m\nENTRY e {\n  x = f32[8,56,56,144] parameter(0)\n  g = f32[8,56,56,144] parameter(1)\n  ROOT r = "
        "f32[",
        taps, ",1,144] convolution(x, g), window={size=56x56 pad=", padding,
        "}, dim_labels=f01b_i01o->01bf, batch_group_count=144\n}");
    return StructureOf(text);
  };
  const auto registers = [](const Structure& structure, const machine::Machine& machine) {
    const Nest& nest = structure.main_nest();
    const RegisterTile tile = ChooseRegisterTile(nest, PreferredTiles(nest, machine).front(), machine);
    return absl::StrCat(tile.planes, "x", tile.rows, "x", tile.vectors);
  };
  const Structure three = structure("3,3", "1_1x1_1"), seven = structure("7,7", "3_3x3_3");
  machine::Machine machine = MachineWith(1, 1 << 20);
  ASSERT_TRUE(SumsForTaps(three.main_nest()));
  EXPECT_EQ(registers(three, machine), "3x3x3");
  EXPECT_EQ(registers(seven, machine), "4x7x1");
  EXPECT_EQ(three.nests.size(), 1u) << "a copy of the picture";
  std::vector<int64_t> sums;
  for (const te::IterVar& sum : three.main_nest().main->reduce_axes) sums.push_back(sum.extent);
  EXPECT_THAT(sums, ::testing::ElementsAre(8, 56, 56));
  machine.vector_registers = 16;
  EXPECT_EQ(registers(three, machine), "3x3x1");
  machine.threads = 2;
  EXPECT_LT(PreferredTiles(three.main_nest(), machine).front().back(), 144) << "channels are shared out";
}

// Registers take a piece of each pixel's channels, so that a block of the picture stays near until all pieces are
// taken.
TEST(DefaultSchedule, PixelsOfAPointwiseGradientComeInBlocks) {
  const auto block = [](int64_t channels) {
    const std::string text =
        absl::StrCat("HloModule m\nENTRY e {\n  x = f32[16,56,56,", channels,
                     "] parameter(0)\n  g = f32[16,56,56,24] parameter(1)\n", "  ROOT r = f32[1,1,", channels,
                     ",24] convolution(x, g), window={size=56x56}, dim_labels=f01b_i01o->01bf\n}");
    const Structure structure = StructureOf(text);
    const Nest& nest = structure.main_nest();
    const machine::Machine machine = MachineWith(1, 1 << 20);
    EXPECT_EQ(FormOf(nest, machine), TiledForm::kBlocked);
    return SumBlock(nest, PreferredTiles(nest, machine).front(), machine);
  };
  EXPECT_LE(block(144) * 144 * 4, 16 << 10) << "half of the nearest cache";
  EXPECT_GT(block(64), block(144));
}

// All pixels of a small picture are one block: what they read of both operands stays near for every register tile.
TEST(DefaultSchedule, PixelsOfASmallPictureAreOneBlockOfAGradient) {
  machine::Machine machine = MachineWith(1, 512 << 10);
  machine.vector_registers = 16;
  machine.vector_bytes = 32;
  const auto trace = [&](int64_t size) {
    const Structure structure = StructureOf(absl::StrCat(
        "HloModule m\nENTRY e {\n  x = f32[32,", size + 2, ",", size + 2, ",64] parameter(0)\n  g = f32[32,", size, ",",
        size, ",64] parameter(1)\n  ROOT r = f32[3,3,64,64] convolution(x, g), window={size=", size, "x", size,
        "}, dim_labels=f01b_i01o->01bf\n}"));
    const Nest& nest = structure.main_nest();
    EXPECT_EQ(FormOf(nest, machine), TiledForm::kBlocked);
    return ScheduleStructure(structure, PreferredTiles(nest, machine).front(), machine).value().ToString();
  };
  EXPECT_THAT(trace(7), ::testing::HasSubstr(" r0 i0 i1 i2.outer i3.outer r1 r2 "));
  EXPECT_THAT(trace(9), ::testing::HasSubstr(" r0 r1 i0 i1 i2.outer i3.outer r2 ")) << "81 pixels are too many";
}

// Groups as wide as a vector: the weights are what rows share, also where the picture is larger.
TEST(DefaultSchedule, GroupsOfChannelsShareTheirWeights) {
  const std::string text =
      "HloModule m\nENTRY e {\n  x = f32[1,14,14,512] parameter(0)\n  w = f32[3,3,16,512] parameter(1)\n"
      "  ROOT r = f32[1,14,14,512] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
      "feature_group_count=32\n}";
  const Structure structure = StructureOf(text);
  const Nest& nest = structure.main_nest();
  const machine::Machine machine = MachineWith(1, 1 << 20);
  EXPECT_EQ(LargestVectorAccess(nest, *nest.main, VectorAxisOf(nest))->tensor->kind, te::OperationKind::kPlaceholder);
  EXPECT_EQ(FormOf(nest, machine), TiledForm::kRegisters);
}

// Nothing is read for two results where all axes are batches: vectors go along memory, whatever the result's order.
TEST(DefaultSchedule, ContractionsOfBatchesGoAlongMemory) {
  const auto axis = [](const char* batches) {
    return VectorAxisOf(StructureOf(absl::StrCat("HloModule m\nENTRY e {\n  x = f32[64,48,32] parameter(0)\n"
                                                 "  y = f32[64,48,32] parameter(1)\n  ROOT d = ",
                                                 batches, ", lhs_contracting_dims={0}, rhs_contracting_dims={0}\n}"))
                            .main_nest());
  };
  EXPECT_EQ(axis("f32[32,48] dot(x, y), lhs_batch_dims={2,1}, rhs_batch_dims={2,1}"), 0);
  EXPECT_EQ(axis("f32[48,32] dot(x, y), lhs_batch_dims={1,2}, rhs_batch_dims={1,2}"), 1);
}

// A packing loop asks for the lines of an input that no cache is likely to hold some rows ahead.
TEST(DefaultSchedule, PackingAsksForFarRows) {
  const auto trace = [](int64_t rows, int64_t columns, int64_t terms) {
    const Structure structure = StructureOf({"rows", bench::kProduct, {rows, columns, terms, 1}});
    const machine::Machine machine = MachineWith(1, 1 << 20);
    const std::vector<int64_t> tile = PreferredTiles(structure.main_nest(), machine).front();
    return ScheduleStructure(structure, tile, machine).value().ToString();
  };
  EXPECT_THAT(trace(128, 768, 3072), ::testing::HasSubstr("prefetch p1 p1.thread"));
  EXPECT_THAT(trace(128, 256, 256), ::testing::Not(::testing::HasSubstr("prefetch")));
}

// What the next block of a sum reads of a matrix comes beside the arithmetic of this one: of one that is packed block
// by block, or read in order, where the second cache does not hold it.
TEST(DefaultSchedule, TheNextBlockOfAFarMatrixIsAskedFor) {
  const auto asks = [](int64_t rows, int64_t columns, int64_t terms, bool known) {
    const Contraction product{"rows", bench::kProduct, {rows, columns, terms, 1}};
    const machine::Machine machine = MachineWith(1, 1 << 20);
    const std::string trace = ScheduleDefault(product, machine, known).value().ToString();
    const bool next = absl::StrContains(trace, " 1 i0\n");
    EXPECT_TRUE(LowerDefault(product, machine, known).ok());
    return next ? absl::StrContains(trace, "prefetch p1.shared ") ? "panel" : "operand" : "nothing";
  };
  EXPECT_EQ(asks(35, 10000, 650, false), "operand");
  EXPECT_EQ(asks(128, 3072, 768, false), "operand");
  EXPECT_EQ(asks(128, 512, 256, false), "nothing") << "it is near";
  EXPECT_EQ(asks(35, 16384, 650, true), "panel");
  EXPECT_EQ(asks(128, 3072, 768, true), "nothing") << "the last cache has it, and the processor sees what is next";
  EXPECT_EQ(asks(4, 8192, 2048, false), "operand") << "it streams by";
  EXPECT_EQ(asks(16, 3072, 768, false), "operand") << "it may come from memory because of others";
  EXPECT_EQ(asks(4, 256, 256, false), "nothing") << "it is near";
}

// Not where data says which rows it reads, unless it says that of all of them at once, as of one layer's weights.
TEST(DefaultSchedule, TheNextBlockIsAskedForWhereItIsKnown) {
  const auto asks = [](const std::string& weights) {
    const Structure structure = StructureOf(absl::StrCat(R"(
      ENTRY e {
        x = f32[4,1024] parameter(0)
        w = f32[4096,4096] parameter(1)
        rows = s32[1024,1] parameter(2)
        first = s32[] parameter(3)
        zero = s32[] constant(0)
        m = f32[1024,4096] )",
                                                         weights, R"(
        ROOT d = f32[4,4096] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      })"));
    const machine::Machine machine = MachineWith(1, 1 << 20);
    const std::vector<int64_t> tile = PreferredTiles(structure.main_nest(), machine).front();
    return absl::StrContains(ScheduleStructure(structure, tile, machine).value().ToString(), "prefetch");
  };
  EXPECT_TRUE(asks("dynamic-slice(w, first, zero), dynamic_slice_sizes={1024,4096}"));
  EXPECT_FALSE(
      asks("gather(w, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
           "slice_sizes={1,4096}"));
}

// 12 rows: tiles of a stream are whole strips of the panel that is made of it where it is known. A tile that begins in
// the middle of one reads no vectors: 21 ms instead of 4.3 for 2,048 x 8,192 on a Zen 4.
TEST(DefaultSchedule, TilesOfAStreamAreWholeStrips) {
  const machine::Machine machine = MachineWith(1, 1 << 20);
  for (const int64_t rows : {3, 7, 10, 12, 13, 14}) {
    const Structure structure = StructureOf({"rows", bench::kProduct, {rows, 8192, 2048, 1}});
    const Nest& nest = structure.main_nest();
    const std::vector<int64_t> tile = PreferredTiles(nest, machine).front();
    EXPECT_EQ(tile[1] == 8192 ? 0 : tile[1] % ChooseRegisterTile(nest, tile, machine).width(), 0) << rows;
  }
}

// The weights' gradient of one step of a recurrent layer goes row after row; with more terms, or near, in strips.
TEST(DefaultSchedule, LargeResultsOfShortSumsGoRowAfterRow) {
  const auto columns = [](int64_t rows, int64_t columns, int64_t terms) {
    const Structure structure = StructureOf({"outer", bench::kProduct, {rows, columns, terms, 1}});
    return PreferredTiles(structure.main_nest(), MachineWith(1, 1 << 20)).front()[1];
  };
  EXPECT_EQ(columns(1300, 2600, 8), 2600);
  EXPECT_EQ(columns(1300, 2600, 1), 2600);
  EXPECT_LT(columns(1300, 2600, 64), 2600) << "there is arithmetic enough";
  EXPECT_LT(columns(400, 512, 8), 512) << "the second cache holds it";
}

// 140 rows in one tile: a second one, of the 12 that are left of 128, would have the matrix packed in memory for both.
TEST(DefaultSchedule, ARestOfTheRowsJoinsTheirTile) {
  const machine::Machine machine = MachineWith(1, 1 << 20);
  const Structure structure = StructureOf({"rows", bench::kProduct, {140, 1024, 1040, 1}});
  EXPECT_EQ(PreferredTiles(structure.main_nest(), machine).front().front(), 140);
  const absl::StatusOr<ir::Function> function = LowerDefault({"rows", bench::kProduct, {140, 1024, 1040, 1}}, machine);
  ASSERT_TRUE(function.ok()) << function.status();
  EXPECT_EQ(PackingPhases(*function), 0);
}

// 16 pixels share 19 MB of weights: a few of their rows stream by at a time. Known ones are packed, once for all calls.
TEST(DefaultSchedule, FewPixelsShareWeightsThatStreamBy) {
  const Contraction layer{"c", bench::kConvolution, {4, 1024, 512, 3, 1}};
  const machine::Machine machine = MachineWith(1, 1 << 20);
  const Structure structure = StructureOf(layer);
  const Nest& nest = structure.main_nest();
  ASSERT_EQ(FormOf(nest, machine), TiledForm::kBlocked);
  EXPECT_EQ(SumBlock(nest, PreferredTiles(nest, machine).front(), machine), 16);
  for (const bool known : {false, true}) {
    const absl::StatusOr<ir::Function> function = LowerDefault(layer, machine, known);
    ASSERT_TRUE(function.ok()) << function.status();
    EXPECT_EQ(PackingPhases(*function), known ? 1 : 0);
  }
}

// One row times a matrix: from the last cache with partial sums in the first one, from memory in long runs.
TEST(DefaultSchedule, AMatrixFromMemoryStreamsByInLongRuns) {
  using Tile = std::vector<int64_t>;
  const auto tile = [](int64_t columns, int64_t terms, int threads) {
    const Structure structure = StructureOf({"row", bench::kProduct, {1, columns, terms, 1}});
    return PreferredTiles(structure.main_nest(), MachineWith(threads, 1 << 20)).front();
  };
  EXPECT_EQ(tile(8192, 256, 1), Tile({1, 2048}));
  EXPECT_EQ(tile(8192, 2048, 1), Tile({1, 8192}));
  EXPECT_EQ(tile(8192, 2048, 2), Tile({1, 4096}));
  EXPECT_EQ(tile(100000, 512, 1), Tile({1, 32768})) << "an eighth of the second cache";
}

// A few rows share a matrix, of which a block of 16 rows streams by at a time; it is not packed.
TEST(DefaultSchedule, FewRowsShareAMatrixThatStreamsBy) {
  const machine::Machine machine = MachineWith(1, 1 << 20);
  const auto streams = [&](int64_t rows, int64_t columns, int64_t terms) {
    const Structure structure = StructureOf({"rows", bench::kProduct, {rows, columns, terms, 1}});
    const Nest& nest = structure.main_nest();
    const bool shared = SharesAStream(nest, VectorAxisOf(nest), machine);
    if (shared) {
      EXPECT_EQ(FormOf(nest, machine), TiledForm::kBlocked);
      EXPECT_EQ(SumBlock(nest, {rows, columns}, machine), rows > 8 ? 32 : 16);
    }
    return shared;
  };
  EXPECT_TRUE(streams(2, 256, 256));
  EXPECT_TRUE(streams(4, 3072, 768));
  EXPECT_TRUE(streams(16, 3072, 768)) << "each row of the matrix begins in another page";
  EXPECT_FALSE(streams(1, 3072, 768)) << "nothing is shared";
  EXPECT_FALSE(streams(16, 768, 3072)) << "its rows are near";
  EXPECT_TRUE(streams(16, 1024, 128)) << "more rows than registers hold";
  EXPECT_FALSE(streams(8, 1024, 512)) << "it is small, and registers hold all rows";
  EXPECT_FALSE(streams(64, 3072, 768)) << "packing pays";
  for (const int64_t rows : {3, 11, 16}) {
    for (const int threads : {1, 2}) {
      const absl::StatusOr<ir::Function> function =
          LowerDefault({"rows", bench::kProduct, {rows, 3072, 1000, 1}}, MachineWith(threads, 1 << 20));
      ASSERT_TRUE(function.ok()) << function.status();
      ASSERT_EQ(function->phases.size(), 1);
      EXPECT_EQ(Decompose(*function, threads).packed_share, 0);
      EXPECT_GE(Decompose(*function, threads).balance, 0.9);
    }
  }
}

// Fewer rows do so where registers are few, in register tiles that hold twelve accumulators where the rows allow it.
TEST(DefaultSchedule, RowsOfAStreamFillFewRegisters) {
  machine::Machine machine = MachineWith(1, 512 << 10);
  machine.vector_registers = 16;
  machine.vector_bytes = 32;
  using Pair = std::pair<int64_t, int64_t>;
  const auto rows_and_vectors = [&](int64_t rows) {
    const Structure structure = StructureOf({"rows", bench::kProduct, {rows, 3072, 768, 1}});
    const Nest& nest = structure.main_nest();
    EXPECT_EQ(SharesAStream(nest, VectorAxisOf(nest), machine), rows <= 12) << rows;
    EXPECT_EQ(SumBlock(nest, {rows, 512}, machine), rows <= 8 ? 16 : 32) << rows;
    const RegisterTile tile = ChooseRegisterTile(nest, {rows, 512}, machine);
    return Pair(tile.rows, tile.vectors);
  };
  EXPECT_EQ(rows_and_vectors(2), Pair(2, 4));
  EXPECT_EQ(rows_and_vectors(3), Pair(3, 4));
  EXPECT_EQ(rows_and_vectors(4), Pair(4, 3));
  EXPECT_EQ(rows_and_vectors(5), Pair(5, 2));
  EXPECT_EQ(rows_and_vectors(6), Pair(6, 2));
  EXPECT_EQ(rows_and_vectors(7), Pair(4, 3)) << "four and three";
  EXPECT_EQ(rows_and_vectors(8), Pair(4, 3));
  EXPECT_EQ(rows_and_vectors(12), Pair(6, 2));
}

TEST(DefaultSchedule, TooLittleWorkStaysOnOneThread) {
  const Contraction layer{"small", bench::kProduct, {8, 32, 64, 1}};
  const absl::StatusOr<ir::Function> function = LowerDefault(layer, MachineWith(8, 1 << 20));
  ASSERT_TRUE(function.ok()) << function.status();
  for (const ir::Phase& phase : function->phases) EXPECT_EQ(phase.extent, 1);
}

TEST(PieceBalance, CountsWhatTheBusiestThreadDoes) {
  EXPECT_EQ(PieceBalance({{0, 56, 1, ""}, {1, 64, 32, ""}}, 8), 1);
  EXPECT_EQ(PieceBalance({{0, 3, 1, ""}}, 2), 0.75);
  EXPECT_EQ(PieceBalance({{0, 1, 1, ""}}, 4), 0.25);
  // 512 columns and 256.
  EXPECT_EQ(PieceBalance({{0, 768, 512, ""}}, 2), 0.75);
  // The cut tile is the outermost: 3 threads take 8 rows each, the cut ones at the end are 4.
  EXPECT_EQ(PieceBalance({{1, 4, 1, ""}, {0, 20, 8, ""}}, 3), 80.0 / (3 * 32));
}

TEST(FusibleLoops, OneUnevenLoopGoesOutsideAndOthersStaySerial) {
  std::vector<TileLoop> order{{0, 8, 1, "a"}, {1, 100, 32, "b"}, {2, 1, 1, "c"}, {3, 10, 4, "d"}};
  const auto by_axis = [](const TileLoop& a, const TileLoop& b) { return a.axis < b.axis; };
  do {
    std::vector<TileLoop> loops = order;
    ASSERT_EQ(FusibleLoops(loops), 2u);
    EXPECT_EQ(loops[0].loop, "b");
    EXPECT_EQ(loops[1].loop, "a");
  } while (std::next_permutation(order.begin(), order.end(), by_axis));
}

}  // namespace
}  // namespace smelt::kernels::nests
