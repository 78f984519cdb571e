// Contractions of short numbers by instructions, interpreted: whatever the machine at hand has.
#include "kernels/templates/dot_instruction.h"

#include "gmock/gmock.h"
#include "hlo/text/parser.h"
#include "kernels/te/dot_intrinsics.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/tiles/kernel_schedule.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

machine::Machine With(std::vector<std::string> instructions) {
  machine::Machine machine;
  machine.instructions = std::move(instructions);
  return machine;
}

te::Graph GraphOf(const std::string& entry) {
  const auto module = hlo::ParseModule("HloModule m\nENTRY e {\n" + entry + "\n}\n");
  EXPECT_TRUE(module.ok()) << module.status();
  return te::FromHlo(*(*module)->entry()).value();
}

// The default tile.
Schedule ScheduleOn(const te::Graph& graph, const machine::Machine& machine) {
  const nests::Structure structure = nests::AnalyseStructure(graph);
  return nests::ScheduleStructure(structure, nests::PreferredTiles(structure.main_nest(), machine).front(), machine)
      .value();
}

// The full range of bytes, so that groups and shifts wrap if they can.
std::vector<hlo::Literal> Bytes(const te::Graph& graph) {
  std::vector<hlo::Literal> inputs;
  for (const Tensor& input : graph.inputs) {
    const bool is_unsigned = input.type() == PrimitiveType::kU8;
    inputs.push_back(RandomLiteral(input.type(), {input.shape().begin(), input.shape().end()}, inputs.size() + 5,
                                   is_unsigned ? 0 : -128, is_unsigned ? 255 : 127));
  }
  return inputs;
}

std::string Dot(const char* left, const char* right, int64_t m, int64_t n, int64_t k, bool transposed = false) {
  const std::string b =
      transposed ? absl::StrCat(right, "[", n, ",", k, "]") : absl::StrCat(right, "[", k, ",", n, "]");
  return absl::StrCat("a = ", left, "[", m, ",", k, "] parameter(0)  b = ", b, " parameter(1)  ROOT c = s32[", m, ",",
                      n, "] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={", transposed ? 1 : 0, "}");
}

TEST(DotInstruction, ProductsOfBytesAreExactInEveryShape) {
  const struct {
    const char *left, *right, *name;
  } types[] = {{"u8", "s8", "dot_u8s8_16"}, {"s8", "s8", "dot_s8shifted_s8_16"}, {"s8", "u8", "dot_s8u8_16"}};
  const int64_t shapes[][3] = {{8, 16, 16}, {12, 32, 64}, {9, 17, 18}, {13, 50, 33}, {31, 8, 19}, {24, 70, 20}};
  for (const auto& [left, right, name] : types) {
    for (const auto& [m, n, k] : shapes) {
      for (const bool transposed : {false, true}) {
        const te::Graph graph = GraphOf(Dot(left, right, m, n, k, transposed));
        const Schedule s = ScheduleOn(graph, With({"avx512vnni"}));
        EXPECT_THAT(s.ToString(), HasSubstr(absl::StrCat(name, transposed ? ".transposed" : "", "\n")));
        EXPECT_EQ(s.ToString().find("pad_reduction") != std::string::npos, k % 4 != 0);
        EXPECT_EQ(s.ToString().find("shift_operand") != std::string::npos, std::string(left) == right);
        EXPECT_EQ(Difference(s, Bytes(graph)), "") << m << " " << n << " " << k;
      }
    }
  }
}

TEST(DotInstruction, OfFourAndEightLanes) {
  const te::Graph graph = GraphOf(Dot("s8", "s8", 11, 21, 30));
  for (const char* feature : {"avxvnni", "avx2", "dotprod"}) {
    const Schedule s = ScheduleOn(graph, With({feature}));
    EXPECT_THAT(s.ToString(), HasSubstr("tensorize"));
    EXPECT_EQ(Difference(s, Bytes(graph)), "") << feature;
  }
}

TEST(DotInstruction, BytesOfEitherSignWithoutVnni) {
  for (const auto& [left, right] : {std::pair{"s8", "s8"}, std::pair{"u8", "s8"}, std::pair{"s8", "u8"}}) {
    const te::Graph graph = GraphOf(Dot(left, right, 19, 21, 30));
    for (const auto& [feature, lanes] : {std::pair{"avx512bw", "_16"}, std::pair{"avx2", "_8"}}) {
      const Schedule s = ScheduleOn(graph, With({feature}));
      EXPECT_THAT(s.ToString(), HasSubstr(absl::StrCat("dot_", left, right, lanes)));
      EXPECT_EQ(Difference(s, Bytes(graph)), "") << left << right << lanes;
    }
  }
}

TEST(DotInstruction, VnniIsTakenBeforeWhatStandsInItsPlace) {
  const te::Graph graph = GraphOf(Dot("s8", "s8", 16, 32, 64));
  const machine::Machine zen4 = With({"avx512vnni", "avx512bf16", "avx512bw", "avx2"});
  EXPECT_THAT(ScheduleOn(graph, zen4).ToString(), HasSubstr("dot_s8shifted_s8_16\n"));
  EXPECT_THAT(ScheduleOn(graph, With({"avx512bw", "avx2"})).ToString(), HasSubstr("dot_s8s8_16\n"));
}

TEST(DotInstruction, TilesOfAMatrixUnit) {
  // Rows fall into tiles that are nearly equal; columns and terms are filled up.
  const struct {
    int64_t m, n, k;
    int rows;
  } shapes[] = {{16, 16, 64, 16}, {40, 48, 128, 14}, {33, 50, 100, 11}, {19, 9, 64, 10}};
  const struct {
    const char *left, *right, *name;
  } types[] = {{"s8", "s8", "tile_dot_s8s8"}, {"u8", "s8", "tile_dot_u8s8"}, {"s8", "u8", "tile_dot_s8u8"}};
  for (const auto& [left, right, name] : types) {
    for (const auto& [m, n, k, rows] : shapes) {
      for (const bool transposed : {false, true}) {
        const te::Graph graph = GraphOf(Dot(left, right, m, n, k, transposed));
        const Schedule s = ScheduleOn(graph, With({"avx512vnni", "amx-int8"}));
        EXPECT_THAT(s.ToString(), HasSubstr(absl::StrCat(name, "_", rows, transposed ? ".transposed" : "", "\n")));
        EXPECT_EQ(Difference(s, Bytes(graph)), "") << m << " " << n << " " << k;
      }
    }
  }
  const te::Graph brain = GraphOf(
      "a = bf16[32,64] parameter(0)  b = bf16[64,40] parameter(1)  ROOT c = f32[32,40] dot(a, b), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  const Schedule s = ScheduleOn(brain, With({"amx-bf16"}));
  EXPECT_THAT(s.ToString(), HasSubstr("tile_dot_bf16_16\n"));
  EXPECT_EQ(Difference(s, RandomInputs(brain)), "");
  // A stride of two is no tile: the vector instruction serves. So it does where most of a group would be padding.
  const te::Graph strided = GraphOf(
      "x = s8[1,40,40,64] parameter(0)  w = s8[1,1,64,32] parameter(1)  ROOT c = s32[1,20,20,32] convolution(x, w), "
      "window={size=1x1 stride=2x2}, dim_labels=b01f_01io->b01f");
  for (const te::Graph& graph : {strided, GraphOf(Dot("s8", "s8", 32, 32, 40))})
    EXPECT_THAT(ScheduleOn(graph, With({"avx512vnni", "amx-int8"})).ToString(), HasSubstr("dot_s8shifted_s8_16\n"));
}

TEST(DotInstruction, TilesOfImagesTakeSeveralLines) {
  for (const auto& [size, rows] : {std::pair{5, 5}, std::pair{7, 7}, std::pair{17, 9}}) {
    const std::string image = absl::StrCat("1,", size, ",", size);
    const te::Graph graph = GraphOf(absl::StrCat("x = s8[", image, ",64] parameter(0)  w = s8[3,3,64,9] parameter(1)  ",
                                                 "ROOT c = s32[", image,
                                                 ",9] convolution(x, w), window={size=3x3 pad=1_1x1_1}, "
                                                 "dim_labels=b01f_01io->b01f"));
    const Schedule s = ScheduleOn(graph, With({"amx-int8"}));
    EXPECT_THAT(s.ToString(), HasSubstr(absl::StrCat("tile_dot_s8s8_", rows, "\n")));
    EXPECT_EQ(s.ToString().find("unroll convolution_0.local i1\n") != std::string::npos, size == rows);
    EXPECT_EQ(Difference(s, Bytes(graph)), "") << size;
  }
}

TEST(DotInstruction, TilesInEveryOrderOfTheCaches) {
  // The right operand fits; neither does, and rows fall into parts; only the left one does.
  machine::Machine machine = With({"amx-int8"});
  const te::Graph graph = GraphOf(Dot("s8", "s8", 96, 64, 128));
  std::vector<std::string> traces;
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{12} << 10}) {
    machine.levels[1].bytes = bytes;
    const Schedule s = ScheduleOn(graph, machine);
    EXPECT_EQ(Difference(s, Bytes(graph)), "") << bytes;
    traces.push_back(s.ToString());
  }
  EXPECT_THAT(traces[0], HasSubstr("reorder dot_0 i0.outer i1.outer "));
  EXPECT_THAT(traces[1], HasSubstr("reorder dot_0 i0.outer.outer i1.outer i0.outer.inner "));
  machine.levels[1].bytes = 15 << 10;
  const te::Graph wide = GraphOf(Dot("s8", "s8", 32, 128, 64));
  const Schedule s = ScheduleOn(wide, machine);
  EXPECT_THAT(s.ToString(), HasSubstr("reorder dot_0 i1.outer i0.outer "));
  EXPECT_EQ(Difference(s, Bytes(wide)), "");
}

TEST(DotInstruction, TilesBeginAtZeroOnly) {
  const te::Graph graph = GraphOf(R"(
  a = s8[32,64] parameter(0)  b = s8[64,32] parameter(1)  start = s32[32,32] parameter(2)
  c = s32[32,32] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = s32[32,32] add(c, start))");
  const Schedule s = ScheduleOn(graph, With({"amx-int8"}));
  EXPECT_THAT(s.ToString(), HasSubstr("tile_dot_s8s8_16\n"));
  EXPECT_EQ(Difference(s, Bytes(graph)), "");
}

TEST(DotInstruction, BatchesAndEpilogues) {
  const te::Graph batched = GraphOf(R"(
  a = s8[3,10,24] parameter(0)  b = s8[3,24,40] parameter(1)
  ROOT c = s32[3,10,40] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1})");
  const te::Graph requantised = GraphOf(R"(
  a = s8[20,64] parameter(0)  b = s8[64,48] parameter(1)  bias = s32[48] parameter(2)
  c = s32[20,48] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  wide = s32[20,48] broadcast(bias), dimensions={1}  sum = s32[20,48] add(c, wide)
  seven = s32[] constant(7)  shift = s32[20,48] broadcast(seven), dimensions={}
  small = s32[20,48] shift-right-arithmetic(sum, shift)
  lo = s32[] constant(-128)  hi = s32[] constant(127)  clamped = s32[20,48] clamp(lo, small, hi)
  ROOT r = s8[20,48] convert(clamped))");
  for (const te::Graph& graph : {batched, requantised}) {
    const Schedule s = ScheduleOn(graph, With({"avx512vnni"}));
    EXPECT_THAT(s.ToString(), HasSubstr("dot_s8shifted_s8_16\n"));
    EXPECT_EQ(Difference(s, Bytes(graph)), "");
  }
}

TEST(DotInstruction, ConvolutionsOfImages) {
  const char* windows[] = {"size=3x3 pad=1_1x1_1", "size=3x3 stride=2x2 pad=1_1x1_1", "size=1x1"};
  const char* shapes[] = {"9,9", "5,5", "9,9"};
  const char* taps[] = {"3,3", "3,3", "1,1"};
  for (int i = 0; i < 3; ++i) {
    for (const int features : {16, 3}) {
      if (features == 3 && i == 2) continue;
      const te::Graph graph =
          GraphOf(absl::StrCat("x = s8[2,9,9,", features, "] parameter(0)  w = s8[", taps[i], ",", features,
                               ",24] parameter(1)  ROOT c = s32[2,", shapes[i], ",24] convolution(x, w), window={",
                               windows[i], "}, dim_labels=b01f_01io->b01f"));
      const Schedule s = ScheduleOn(graph, With({"avx512vnni"}));
      EXPECT_THAT(s.ToString(), HasSubstr("dot_s8shifted_s8_16\n"));
      EXPECT_EQ(Difference(s, Bytes(graph)), "") << i << " " << features;
    }
  }
}

TEST(DotInstruction, BrainFloats) {
  for (const int64_t k : {32, 33}) {
    const te::Graph graph = GraphOf(absl::StrCat("a = bf16[10,", k, "] parameter(0)  b = bf16[", k,
                                                 ",40] parameter(1)  ROOT c = f32[10,40] dot(a, b), "
                                                 "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
    const Schedule s = ScheduleOn(graph, With({"avx512bf16"}));
    EXPECT_THAT(s.ToString(), HasSubstr("dot_bf16_16\n"));
    EXPECT_EQ(Difference(s, RandomInputs(graph)), "");
  }
}

TEST(DotInstruction, WhatDoesNotFitStaysAsItWas) {
  const machine::Machine plain, vnni = With({"avx512vnni"});
  const char* entries[] = {
      // Too few rows share the right operand; other types; nothing to sum up.
      "a = s8[2,64] parameter(0)  b = s8[64,64] parameter(1)  ROOT c = s32[2,64] dot(a, b), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}",
      "a = s16[32,64] parameter(0)  b = s16[64,64] parameter(1)  ROOT c = s32[32,64] dot(a, b), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
      "a = s8[64,32] parameter(0)  b = s8[64,64] parameter(1)  ROOT c = s32[32,64] dot(a, b), "
      "lhs_contracting_dims={0}, rhs_contracting_dims={0}",
  };
  for (const char* entry : entries) {
    const te::Graph graph = GraphOf(entry);
    EXPECT_EQ(ScheduleOn(graph, vnni).ToString(), ScheduleOn(graph, plain).ToString());
  }
}

TEST(PadReduction, AndShiftOperandMeanTheSame) {
  const te::Graph graph = GraphOf(Dot("s8", "s8", 3, 5, 7));
  Schedule s(graph);
  const std::vector<std::string> padded = s.PadReduction("dot_0", "r0", 4).value();
  EXPECT_THAT(padded, testing::ElementsAre("p0.pad", "p1.pad"));
  EXPECT_EQ(s.Extent("dot_0", "r0").value(), 8);
  EXPECT_EQ(Difference(s, Bytes(graph)), "");
  EXPECT_EQ(s.ShiftOperand("dot_0", "p0.pad").value(), "dot_0.shift");
  EXPECT_EQ(Difference(s, Bytes(graph)), "");
  EXPECT_THAT(s.ToString(), HasSubstr("pad_reduction dot_0 r0 4\nshift_operand dot_0 p0.pad\n"));
}

TEST(PadReduction, RefusedWithStageAndLoop) {
  const te::Graph graph = GraphOf(Dot("s8", "s8", 3, 5, 7));
  Schedule s(graph);
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  EXPECT_THAT(message(s.PadReduction("dot_0", "i0", 4).status()),
              HasSubstr("pad_reduction of stage `dot_0`: loop `i0`"));
  EXPECT_THAT(message(s.PadReduction("dot_0", "r0", 0).status()), HasSubstr("a multiple of 0"));
  EXPECT_THAT(message(s.ShiftOperand("dot_0", "dot_0").status()),
              HasSubstr("operand `dot_0`: the stage does not multiply by it"));
  EXPECT_EQ(s.ToString(), "");
  ASSERT_TRUE(s.Split("dot_0", "r0", 2).ok());
  EXPECT_THAT(message(s.PadReduction("dot_0", "r0.outer", 4).status()), HasSubstr("pad before it is split"));
  const Tensor a = Placeholder("a", {4}, PrimitiveType::kF32);
  const ReduceAxis k(4, "k");
  Schedule plain(MakeGraph({a}, {Compute("c", {1}, [&](Indices) { return Sum(a(k), {k}); })}));
  EXPECT_THAT(message(plain.PadReduction("c", "r0", 4).status()), HasSubstr("it is no sum of products"));
}

}  // namespace
}  // namespace smelt::kernels::lower
