// Every snippet gets a schedule from every tile that the space enumerates, and from the fallback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "hlo/text/parser.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/panel.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/shared_lines.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "kernels/tiles/tiles.h"
#include "tests/kernels/agreement/snippets.h"

namespace smelt::kernels::nests {
namespace {

class SpaceSnippet : public ::testing::TestWithParam<Snippet> {};

TEST_P(SpaceSnippet, EveryTileMapsToAScheduleThatReplays) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const machine::Machine target;
  const absl::StatusOr<std::vector<Tile>> tiles = EnumerateTiles(*module->entry(), target, 12);
  ASSERT_TRUE(tiles.ok()) << tiles.status();
  ASSERT_FALSE(tiles->empty());
  for (const Tile& tile : *tiles) {
    const absl::StatusOr<schedule::Schedule> schedule = ScheduleForTile(*module->entry(), tile, target);
    ASSERT_TRUE(schedule.ok()) << tile.ToString() << ": " << schedule.status();
    const auto replayed = schedule::Schedule::Replay(te::FromHlo(*module->entry()).value(), schedule->ToString());
    ASSERT_TRUE(replayed.ok()) << replayed.status() << "\n" << schedule->ToString();
    EXPECT_EQ(replayed->trace(), schedule->trace());
  }
}

TEST_P(SpaceSnippet, HasAFallback) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(GetParam());
  const machine::Machine target;
  const Structure structure = AnalyseStructure(te::FromHlo(*module->entry()).value());
  EXPECT_TRUE(FallbackSchedule(structure, target).ok());
}

INSTANTIATE_TEST_SUITE_P(All, SpaceSnippet, ::testing::ValuesIn(Snippets()),
                         [](const auto& info) { return std::string(info.param.name); });

const Snippet& Find(const std::string& name) {
  for (const Snippet& snippet : Snippets()) {
    if (snippet.name == name) return snippet;
  }
  ADD_FAILURE() << name;
  return Snippets()[0];
}

Structure StructureOf(const std::string& name) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find(name));
  return AnalyseStructure(te::FromHlo(*module->entry()).value());
}

TEST(Structure, SoftmaxIsOneNestWithItsRowInScratch) {
  const Structure structure = StructureOf("Softmax");
  ASSERT_EQ(structure.nests.size(), 1);
  EXPECT_EQ(structure.nests[0].kind, NestKind::kRows);
  // The maximum, the exponentials that two passes share, and the sum.
  EXPECT_EQ(structure.nests[0].attached.size(), 3);
}

TEST(Structure, BiasAndActivationHappenInTheStoreOfAContraction) {
  for (const char* name : {"DotBiasRelu", "DotSum", "DotTransposedOut", "DotSplitOut", "ConvolutionTransposed"}) {
    const Structure structure = StructureOf(name);
    const Nest& nest = structure.main_nest();
    EXPECT_EQ(nest.kind, NestKind::kTiled) << name;
    EXPECT_NE(nest.main, nest.root) << name;
    EXPECT_TRUE(IsContraction(*nest.main)) << name;
  }
}

TEST(Structure, ExpensiveOperandOfABroadcastIsComputedOnce) {
  EXPECT_EQ(StructureOf("BroadcastExpensive").nests.size(), 2);
  EXPECT_EQ(StructureOf("BroadcastBias").nests.size(), 1);
}

TEST(Injective, LinesOfAStencilAreComputedTogether) {
  machine::Machine target;
  const Structure stencil = StructureOf("StencilOfLinesThatNoFourDivide");
  EXPECT_EQ(SharedLinesOf(stencil.main_nest(), target).lines, 4);
  const std::vector<int64_t> tile = PreferredTiles(stencil.main_nest(), target).front();
  EXPECT_THAT(
      ScheduleStructure(stencil, tile, target)->ToString(),
      ::testing::ContainsRegex(
          "i0 4 guard\n.*\nunroll [a-z_0-9]+ i0.inner\nreorder [a-z_0-9]+ i0.outer i1.outer i0.inner i1.inner"));
  target.vector_registers = 16;
  EXPECT_EQ(SharedLinesOf(stencil.main_nest(), target).lines, 2);
  for (const char* name : {"Chain", "BroadcastBias"})
    EXPECT_FALSE(SharedLinesOf(StructureOf(name).main_nest(), target)) << name;
}

TEST(Structure, ARolledArrayIsReadWhereItLies) {
  const Structure structure = StructureOf("StencilOfARolledArray");
  ASSERT_EQ(structure.nests.size(), 1);
  EXPECT_TRUE(structure.nests[0].attached.empty());
}

TEST(Structure, PaddedInputOfAConvolutionIsAStageOfItsOwn) {
  EXPECT_EQ(StructureOf("Convolution").nests.size(), 2);
  EXPECT_EQ(StructureOf("Convolution1x1").nests.size(), 1);
}

// The work of a product of narrow types is that of its sum's type: no conversion stands in the sum, and a dot with
// scales is a dot.
TEST(Structure, NarrowOperandsOfAContractionAreConvertedBeforeIt) {
  struct Case {
    const char* text;
    hlo::PrimitiveType sum;
  };
  const Case cases[] = {
      {R"(x = f8e4m3fn[256,256] parameter(0)  y = f8e5m2[256,256] parameter(1)
          ROOT r = bf16[256,256] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1})",
       hlo::PrimitiveType::kF32},
      {R"(x = s4[256,256] parameter(0)  y = s4[256,256] parameter(1)
          ROOT r = s4[256,256] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0})",
       hlo::PrimitiveType::kS8},
      {R"(x = f8e4m3fn[256,256] parameter(0)  y = f8e4m3fn[256,256] parameter(1)
          a = f8e8m0fnu[256,8] parameter(2)  b = f8e8m0fnu[256,8] parameter(3)
          ROOT r = f32[256,256] scaled-dot(x, y, a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1})",
       hlo::PrimitiveType::kF32},
      {R"(x = f8e4m3fn[1,28,28,64] parameter(0)  y = f8e4m3fn[3,3,64,64] parameter(1)
          ROOT r = f8e4m3fn[1,28,28,64] convolution(x, y), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f)",
       hlo::PrimitiveType::kF32},
  };
  for (const Case& c : cases) {
    const auto module = hlo::ParseModule(std::string("HloModule m\nENTRY e {\n") + c.text + "\n}\n");
    ASSERT_TRUE(module.ok()) << module.status();
    const Structure structure = AnalyseStructure(te::FromHlo(*(*module)->entry()).value());
    const te::Operation& main = *structure.main_nest().main;
    EXPECT_TRUE(IsContraction(main)) << c.text;
    EXPECT_EQ(main.types[0], c.sum) << c.text;
    for (const te::Expr& body : main.bodies) {
      te::Visit(body, [&](const te::Expr& e) { EXPECT_NE(e->kind, te::ExprKind::kCast) << c.text; });
    }
    // What the sum reads is kept, not computed again at each product.
    for (const Access& read : structure.main_nest().accesses) {
      if (read.reader.get() != &main) continue;
      EXPECT_EQ(std::count(structure.inlined.begin(), structure.inlined.end(), read.tensor), 0) << c.text;
      EXPECT_EQ(read.tensor->types[0], c.sum) << c.text;
    }
  }
}

TEST(Structure, ASmallDepthwiseWindowReadsItsInputUnpadded) {
  EXPECT_EQ(StructureOf("Depthwise").nests.size(), 1);
  EXPECT_EQ(StructureOf("DepthwiseDilated").nests.size(), 1);
  // Its taps are not unrolled: the border would be asked for at each of them.
  EXPECT_EQ(StructureOf("DepthwiseLarge").nests.size(), 2);
}

TEST(RowReduction, AShortSumFillsItsVectorsWithResults) {
  const machine::Machine target;
  const auto schedule_of = [&](const char* snippet) {
    const std::unique_ptr<hlo::Module> module = ParseSnippet(Find(snippet));
    const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
    return ScheduleForTile(*module->entry(), tile, target)->ToString();
  };
  using ::testing::HasSubstr, ::testing::Not, ::testing::AllOf;
  for (const char* snippet : {"ShortSum", "ShortSumOfTwoAxes", "ShortSumOfDistances", "SumOfPairs",
                              "ShortSumOfOverlaps", "ShortSumWide", "ShortMaximumOfSix", "ShortSumOfRows"})
    EXPECT_THAT(schedule_of(snippet), AllOf(HasSubstr("vectorize"), HasSubstr("unroll"), Not(HasSubstr("rfactor"))));
  // Lanes that lie far apart would be loaded one by one, and rows of thirteen take too many shuffles: vectors of
  // partial sums.
  for (const char* snippet : {"ShortSumOfPartOfRows", "ShortSumOfThirteen"})
    EXPECT_THAT(schedule_of(snippet), HasSubstr("rfactor"));
}

// Group norms, forces on points, images of three channels: neither the results nor what they sum lie side by side.
TEST(Structure, SumsWhoseReadsJumpALittleAreInVectors) {
  const machine::Machine target;
  for (const char* snippet : {"SumOfGroups", "SumOfCoordinates", "SumOfPixels", "SumOverPoints"}) {
    const std::unique_ptr<hlo::Module> module = ParseSnippet(Find(snippet));
    const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
    EXPECT_THAT(ScheduleForTile(*module->entry(), tile, target)->ToString(), ::testing::HasSubstr("vectorize"))
        << snippet;
  }
}

// Distances of many points to four: the four of a point are computed together, each point in a lane of the four sums.
TEST(Structure, FewResultsInsideTheVectorsAreComputedTogether) {
  const machine::Machine target;
  for (const char* snippet : {"DistancesToFewPoints", "RootsOfDistances"}) {
    const std::unique_ptr<hlo::Module> module = ParseSnippet(Find(snippet));
    const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
    EXPECT_EQ(tile.extents.back(), 4) << snippet;
    const auto lowered = lower::Lower(*ScheduleForTile(*module->entry(), tile, target), {});
    ASSERT_TRUE(lowered.ok()) << lowered.status();
    // Whole sums, side by side.
    EXPECT_THAT(ir::ToString(*lowered),
                ::testing::ContainsRegex("reduce_[0-9]+(\\.local)?\\[ramp\\(0, 1, [0-9]+\\)\\] ="));
  }
}

// Distances between the rows of two arrays are scheduled as their product is: the one array packed for vectors, several
// rows of the other in registers. Results that are reduced further would all be in memory at a time.
TEST(Structure, PairsOfRowsAreScheduledAsAProduct) {
  const machine::Machine target;
  for (const char* snippet : {"PairsOfRows", "PairsWithinAnArray"}) {
    const std::unique_ptr<hlo::Module> module = ParseSnippet(Find(snippet));
    const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
    const std::string schedule = ScheduleForTile(*module->entry(), tile, target)->ToString();
    EXPECT_THAT(schedule, ::testing::HasSubstr("transform_layout")) << snippet;
    EXPECT_THAT(schedule, ::testing::Not(::testing::HasSubstr("rfactor"))) << snippet;
  }
  EXPECT_TRUE(IsContraction(*StructureOf("PairsOfScaledColumns").main_nest().main));
  EXPECT_FALSE(IsContraction(*StructureOf("NearestOfPairs").main_nest().main));
}

// Each value is read twice by the next one: 2^60 ways lead from the sum to x.
TEST(Structure, ALookThroughWhatASumReadsPassesEachValueOnce) {
  std::string text =
      "HloModule m\nadd { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }\n"
      "ENTRY e {\n v0 = f32[40,30] parameter(0)\n";
  for (int i = 0; i < 60; ++i)
    absl::StrAppendFormat(&text, " n%d = f32[40,30] negate(v%d)\n v%d = f32[40,30] add(v%d, n%d)\n", i, i, i + 1, i, i);
  text +=
      " z = f32[] constant(0)\n s = f32[40] reduce(v60, z), dimensions={1}, to_apply=add\n"
      " ROOT r = f32[40] negate(s)\n}\n";
  const auto module = hlo::ParseModule(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(AnalyseStructure(te::FromHlo(*(*module)->entry()).value()).nests.size(), 1);
}

// A stage of a scan has axes that its reader lacks: all of them lie inside.
TEST(Rows, StagesOfAScanBackwardsAreInVectors) {
  const machine::Machine target;
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("ScanBackwards"));
  const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
  const std::string schedule = ScheduleForTile(*module->entry(), tile, target)->ToString();
  EXPECT_THAT(schedule, ::testing::HasSubstr("vectorize reduce_window_1_within i3"));
}

// What is kept of a row is transposed: of its last axis one element lies inside.
TEST(Rows, StagesOfATransposedRowAreInVectors) {
  const machine::Machine target;
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("ComplexTransposed"));
  const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
  const std::string schedule = ScheduleForTile(*module->entry(), tile, target)->ToString();
  EXPECT_THAT(schedule, ::testing::HasSubstr("vectorize sqrt_2 i1.inner"));
}

TEST(Rows, FewRowsFindTheMatrixNear) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("DotFewRowsOfRows"));
  const machine::Machine target;
  const auto schedule = ScheduleForTile(*module->entry(), {{1, 16}}, target);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  EXPECT_THAT(schedule->ToString(), testing::HasSubstr("reorder dot_0 i1.outer i0 i1.inner"));
}

TEST(Injective, VectorsGoAlongTheLastAxisOfSeveralElements) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("SlicesOfOneElement"));
  const machine::Machine target;
  const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
  EXPECT_THAT(ScheduleForTile(*module->entry(), tile, target)->ToString(), ::testing::HasSubstr("vectorize"));
}

// A panel of what a stack, or pages, are picked from would hold all of it.
TEST(Structure, APickedPartOfAnArrayIsCopiedForAContraction) {
  for (const char* name : {"DotOfALayerInAStack", "DotOfPages"}) {
    const Structure structure = StructureOf(name);
    ASSERT_EQ(structure.nests.size(), 2) << name;
    const Nest& nest = structure.main_nest();
    const RegisterTile tile = ChooseRegisterTile(nest, nest.main->shape, machine::Machine());
    EXPECT_EQ(PanelOf(structure, nest, *nest.main, tile, /*known=*/{}, machine::Machine()).kind, Panel::Kind::kComputed)
        << name;
  }
}

TEST(Structure, ResultsOfTheSameArraysAreOnePass) {
  const Structure structure = StructureOf("ResultsOfOnePass");
  ASSERT_EQ(structure.nests.size(), 1);
  EXPECT_EQ(structure.nests[0].root->bodies.size(), 4);
  // The sum has loops of its own, and what is read backwards is there before.
  EXPECT_GE(StructureOf("ResultsReadElsewhere").nests.size(), 3);
}

TEST(Tiled, RowsThatAKernelStacksAreStackedBesideTheirProducts) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("DotOfStackedFeatures"));
  machine::Machine target;
  const std::string alone = ScheduleForTile(*module->entry(), {{90, 16}}, target)->ToString();
  EXPECT_THAT(alone, ::testing::Not(::testing::HasSubstr("compute_at concatenate")));  // it stays near anyway
  target.levels[1].bytes = 4096;
  const std::string beside = ScheduleForTile(*module->entry(), {{90, 16}}, target)->ToString();
  EXPECT_THAT(beside, ::testing::HasSubstr("compute_at concatenate"));
}

// Rows of 33 complex numbers divide no vector, but the whole array lies in one piece.
TEST(Injective, RowsOfPairsGoAsOneRun) {
  for (const char* name : {"ComplexArithmetic", "ComplexMagnitude"}) {
    const std::unique_ptr<hlo::Module> module = ParseSnippet(Find(name));
    const machine::Machine target;
    const std::string schedule = PreferredSchedule(*module->entry(), target)->ToString();
    EXPECT_THAT(schedule, ::testing::ContainsRegex("fuse [a-z_0-9]+ i0 i1")) << name;
  }
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("ComplexArithmetic"));
  const auto lowered = lower::Lower(*PreferredSchedule(*module->entry(), machine::Machine()), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_THAT(ir::ToString(*lowered), ::testing::Not(::testing::HasSubstr("splat(33"))) << "no division by the row";
}

// Points divided by their lengths: square roots are taken once a point, and vectors hold several points.
TEST(Rows, ShortRowsShareVectors) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("ShortSumOfEachRow"));
  const machine::Machine target;
  EXPECT_EQ(StructureOf("ShortSumOfEachRow").nests[0].attached.size(), 2);  // the sum and its root
  const Tile tile = EnumerateTiles(*module->entry(), target, 1)->front();
  const std::string schedule = ScheduleForTile(*module->entry(), tile, target)->ToString();
  EXPECT_THAT(schedule, ::testing::HasSubstr("fuse "));
  const auto lowered = lower::Lower(*ScheduleForTile(*module->entry(), tile, target), {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  // Whole vectors are stored one behind the other.
  EXPECT_THAT(ir::ToString(*lowered), ::testing::ContainsRegex("out0\\[ramp\\([^%]*, 1, [0-9]+\\)\\] ="));
}

// Accumulators, the vectors that a step loads and one broadcast: what is live in the loop of the sum.
TEST(RegisterTile, FitsTheRegistersOfTheMachine) {
  for (const int registers : {16, 32}) {
    machine::Machine machine;
    machine.vector_registers = registers;
    machine.vector_bytes = registers == 16 ? 32 : 64;
    for (const Snippet& snippet : Snippets()) {
      const Structure structure = StructureOf(snippet.name);
      const Nest& nest = structure.main_nest();
      if (nest.kind != NestKind::kTiled || !IsContraction(*nest.main)) continue;
      const RegisterTile tile = ChooseRegisterTile(nest, nest.main->shape, machine);
      const int64_t accumulators = tile.rows * tile.planes * tile.vectors;
      EXPECT_LE(accumulators, MostAccumulators(machine)) << snippet.name;
      // With one row the vectors that a step loads are operands in memory.
      const int64_t loaded = tile.rows * tile.planes > 1 ? tile.vectors + 1 : 1;
      EXPECT_LE(accumulators + loaded, registers) << snippet.name;
      const RegisterTile smaller = ChooseRegisterTile(nest, nest.main->shape, machine, 8);
      EXPECT_LE(smaller.rows * smaller.planes * smaller.vectors, 8) << snippet.name;
    }
  }
}

TEST(RegisterTile, TakesASecondAxisOfRowsWhereOneLeavesRegistersEmpty) {
  const Structure structure = StructureOf("KernelGradient");
  const Nest& nest = structure.main_nest();
  const RegisterTile tile = ChooseRegisterTile(nest, nest.main->shape, machine::Machine());
  EXPECT_GE(tile.plane_axis, 0);
  EXPECT_EQ(tile.rows * tile.planes * tile.vectors, 9);
}

TEST(RegisterTile, AFewTermsOfWhatIsCostlyAreALoop) {
  const auto unrolls = [](const std::string& name) {
    const Structure structure = StructureOf(name);
    const Nest& nest = structure.main_nest();
    return UnrollsAll(nest, ChooseRegisterTile(nest, nest.main->shape, machine::Machine()));
  };
  EXPECT_FALSE(unrolls("DotOfSines"));
  EXPECT_TRUE(unrolls("DotTransposedLeft"));
}

TEST(RegisterTile, AMatrixAcrossTheVectorsIsPackedForTwoPassesOverTheRows) {
  const Structure structure = StructureOf("DotTransposedRightShared");
  const Nest& nest = structure.main_nest();
  const RegisterTile tile = ChooseRegisterTile(nest, nest.main->shape, machine::Machine());
  EXPECT_EQ(PanelOf(structure, nest, *nest.main, tile, /*known=*/{}, machine::Machine()).kind, Panel::Kind::kCopied);
}

// Rounds over the sum are innermost, so that blocks of them are transposed in registers (codegen/transposed_loads.h).
TEST(Panel, AStripAcrossTheVectorsIsPackedOneVectorAfterTheOther) {
  const Structure structure = StructureOf("DotTransposedRightShared");
  const machine::Machine target;
  const std::vector<int64_t> tile = PreferredTiles(structure.main_nest(), target).front();
  EXPECT_THAT(ScheduleStructure(structure, tile, target)->ToString(),
              ::testing::HasSubstr("reorder p1.thread i0.outer i0.inner.outer i1 i0.inner.inner"));
}

TEST(RegisterTile, AMatrixTimesItsTransposeIsPacked) {
  const Structure structure = StructureOf("DotOfItselfTransposed");
  const Nest& nest = structure.main_nest();
  const RegisterTile tile = ChooseRegisterTile(nest, nest.main->shape, machine::Machine());
  EXPECT_EQ(PanelOf(structure, nest, *nest.main, tile, /*known=*/{}, machine::Machine()).kind, Panel::Kind::kComputed);
}

TEST(RegisterTile, WhatIsComputedForASmallDepthwiseWindowIsComputedBesideIt) {
  const auto kind = [](const std::string& name) {
    const Structure structure = StructureOf(name);
    const Nest& nest = structure.main_nest();
    const RegisterTile tile = ChooseRegisterTile(nest, nest.main->shape, machine::Machine());
    return PanelOf(structure, nest, *nest.main, tile, /*known=*/{}, machine::Machine()).kind;
  };
  EXPECT_EQ(kind("DepthwiseOfClamped"), Panel::Kind::kWindow);
  EXPECT_NE(kind("DepthwiseLarge"), Panel::Kind::kWindow);
}

TEST(Tile, ParsesWhatItPrints) {
  const Tile tile{{1, 14, 14, 32}};
  EXPECT_EQ(tile.ToString(), "1x14x14x32");
  EXPECT_EQ(Tile::Parse(tile.ToString()).value(), tile);
  EXPECT_EQ(Tile::Parse(Tile().ToString()).value(), Tile());
  for (const char* bad : {"", "x", "1x", "1x-2", "0", "axb", "1 x 2", "99999999999999999999"}) {
    EXPECT_FALSE(Tile::Parse(bad).ok()) << "`" << bad << "`";
  }
}

TEST(ScheduleForTile, RefusesATileThatDoesNotFitTheKernel) {
  const std::unique_ptr<hlo::Module> module = ParseSnippet(Find("Dot"));
  EXPECT_FALSE(ScheduleForTile(*module->entry(), Tile{{4}}, machine::Machine()).ok());
  EXPECT_FALSE(ScheduleForTile(*module->entry(), Tile{{4, 0}}, machine::Machine()).ok());
  EXPECT_FALSE(ScheduleForTile(*module->entry(), Tile{{4, 38}}, machine::Machine()).ok());
}

}  // namespace
}  // namespace smelt::kernels::nests
