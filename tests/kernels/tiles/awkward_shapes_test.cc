// What default schedules make of shapes that divide nothing, lie crosswise, or come from far away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/text/parser.h"
#include "kernels/ir/stmt.h"
#include "kernels/lower/lower.h"
#include "kernels/nests/structure.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/templates/register_tile.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"
#include "tests/kernels/lower/check_lowering.h"

namespace smelt::kernels::nests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSum[] = "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n";

Structure NestsOf(const std::string& body) {
  return AnalyseStructure(
      te::FromHlo(*hlo::ParseModule(absl::StrCat(kSum, "ENTRY e {", body, "}")).value()->entry()).value());
}

schedule::Schedule Preferred(const Structure& structure, const machine::Machine& machine = {}) {
  const std::vector<int64_t> tile = PreferredTiles(structure.main_nest(), machine).front();
  return ScheduleStructure(structure, tile, machine).value();
}

void ExpectLowersRight(const schedule::Schedule& schedule) {
  EXPECT_EQ(lower::Difference(schedule, lower::RandomInputs(schedule.graph())), "");
}

std::string Attention(int64_t rows, int64_t columns) {
  return absl::StrCat("q = f32[2,", rows, ",3,64] parameter(0) k = f32[2,", columns,
                      ",3,64] parameter(1) ROOT d = f32[2,3,", rows, ",", columns,
                      "] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, ",
                      "lhs_contracting_dims={3}, rhs_contracting_dims={3}");
}

// Each of a row's values is for all columns: beyond the last of these it is loaded as before.
TEST(AwkwardShapes, ARowsValueNeedsNoMaskBesideTheLastColumns) {
  const schedule::Schedule schedule = Preferred(NestsOf(Attention(38, 38)));
  ExpectLowersRight(schedule);
  const std::string loops = ir::ToString(lower::Lower(schedule, {}).value());
  ASSERT_THAT(loops, HasSubstr("where"));  // what the last columns store
  for (const absl::string_view line : absl::StrSplit(loops, '\n')) {
    if (!absl::StrContains(line, "splat(p0[")) continue;
    const absl::string_view after = line.substr(line.find("splat(p0["));
    const size_t mask = after.find("where"), end = after.find("], 16)");
    EXPECT_TRUE(mask == absl::string_view::npos || mask > end) << line;
  }
  EXPECT_THAT(loops, Not(HasSubstr("p0[splat("))) << "the same element for each lane";
}

// [32,2] of the operand are the 64 columns: vectors of them lie together as they came.
TEST(AwkwardShapes, ColumnsOfTwoDimensionsStayTogether) {
  const schedule::Schedule schedule = Preferred(NestsOf(
      "x = f32[2,64,64] parameter(0) w = f32[2,64,32,2] parameter(1) c = f32[] constant(3) "
      "b = f32[2,64,32,2] broadcast(c), dimensions={} m = f32[2,64,32,2] multiply(w, b) r = f32[2,64,64] reshape(m) "
      "ROOT d = f32[2,64,64] dot(x, r), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
      "rhs_contracting_dims={1}"));
  ExpectLowersRight(schedule);
  EXPECT_THAT(schedule.ToString(), Not(HasSubstr("transform_layout multiply")));
}

// The gradient of a convolution with strides: each vector gathers from as many lines as it has lanes, which serve the
// input features that follow before another vector's lines take their places.
TEST(AwkwardShapes, TransposedWeightsAreGatheredAVectorsLinesAtATime) {
  const schedule::Schedule schedule =
      Preferred(NestsOf("x = f32[8,2,2,64] parameter(0) w = f32[3,3,64,64] parameter(1) ROOT c = f32[8,4,4,64] "
                        "convolution(x, w), window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2 rhs_reversal=1x1}, "
                        "dim_labels=b01f_01oi->b01f"));
  ExpectLowersRight(schedule);
  EXPECT_THAT(schedule.ToString(), HasSubstr("i5.outer i4 i5.inner"));
}

// The numbers of rows are no matrix beside the vectors: what they choose lies along the sum.
TEST(AwkwardShapes, SumsOfGatheredRowsGoAlongTheRows) {
  const Structure structure = NestsOf(
      "x = f32[300,64] parameter(0) i = s32[1200] parameter(1) j = s32[1200,1] reshape(i) "
      "g = f32[1200,64] gather(x, j), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1,64} v = f32[64] parameter(2) "
      "ROOT d = f32[1200] dot(g, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  EXPECT_EQ(FormOf(structure.main_nest(), machine::Machine()), TiledForm::kDots);
  ExpectLowersRight(Preferred(structure));
}

// The heads of an attention layer beside each other again: quotients and remainders, but linear within a vector.
TEST(AwkwardShapes, ATransposeThatIsReshapedIsTakenInBlocks) {
  const Structure structure = NestsOf(
      "x = f32[8,64,128] parameter(0) t = f32[128,8,64] transpose(x), dimensions={2,0,1} "
      "ROOT r = f32[128,512] reshape(t)");
  EXPECT_EQ(TransposedAxis(structure.main_nest(), 16), 0);
  const schedule::Schedule schedule = Preferred(structure);
  ExpectLowersRight(schedule);
  // Rows of 2,048 bytes share sets of the cache: sixteen of them at a time, and the blocks beside these next.
  EXPECT_THAT(schedule.ToString(), HasSubstr("reorder reshape_1 i0.outer i1.outer i0.inner i1.inner"));
  EXPECT_EQ(TransposedAxis(NestsOf("x = f32[8,64] parameter(0) ROOT n = f32[8,64] negate(x)").main_nest(), 16), -1);
}

// An array that no cache holds, and one whose rows lie apart by no part of a page, are read in long runs.
TEST(AwkwardShapes, LongRunsWhereLinesShareNoSets) {
  for (const char* text : {"x = f32[3000,112] parameter(0) ROOT t = f32[112,3000] transpose(x), dimensions={1,0}",
                           "x = f32[4096,4096] parameter(0) ROOT t = f32[4096,4096] transpose(x), dimensions={1,0}"}) {
    const Structure structure = NestsOf(text);
    EXPECT_GT(PreferredTiles(structure.main_nest(), machine::Machine()).front()[0], 16) << text;
  }
}

// Rows that are normalised go four at a time, unless the last ones are fewer and rows end within a vector, or what they
// share is more than the nearest cache holds.
TEST(AwkwardShapes, RowsAreNormalisedFourAtATime) {
  const auto rows_of = [](int64_t rows, int64_t elements, int threads) {
    const std::string array = absl::StrCat("f32[", rows, ",", elements, "]"), row = absl::StrCat("f32[", rows, "]");
    const Structure structure =
        NestsOf(absl::StrCat("x = ", array, " parameter(0) z = f32[] constant(0) e = ", array,
                             " exponential(x) s = ", row, " reduce(e, z), dimensions={1}, to_apply=sum b = ", array,
                             " broadcast(s), dimensions={0} ROOT d = ", array, " divide(e, b)"));
    machine::Machine target;
    target.threads = threads;
    return PreferredTiles(structure.main_nest(), target).front()[0];
  };
  EXPECT_EQ(rows_of(64, 256, 1), 4);
  EXPECT_EQ(rows_of(64, 100, 1), 4);
  EXPECT_EQ(rows_of(66, 256, 1), 4);
  EXPECT_EQ(rows_of(66, 100, 1), 4);
  EXPECT_EQ(rows_of(64, 8192, 1), 1);
  EXPECT_EQ(rows_of(64, 256, 4), 4);
  EXPECT_EQ(rows_of(16, 256, 4), 1);
}

TEST(AwkwardShapes, RowsOfATableGoFourAtATimeWhereTheyAreSummed) {
  // However large the table is, four of its rows are near.
  const Structure structure = NestsOf(
      "t = f32[32128,512] parameter(0) i = s32[64,1] parameter(1) g = f32[64,512] gather(t, i), offset_dims={1}, "
      "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,512} z = f32[] constant(0) "
      "q = f32[64,512] multiply(g, g) s = f32[64] reduce(q, z), dimensions={1}, to_apply=sum r = f32[64] rsqrt(s) "
      "b = f32[64,512] broadcast(r), dimensions={0} ROOT m = f32[64,512] multiply(g, b)");
  EXPECT_EQ(PreferredTiles(structure.main_nest(), machine::Machine()).front()[0], 4);
}

// The sums of a group norm's gradient: what is subtracted is one number for eight channels, by a reshape and back.
// A sequence whose channels lie innermost, seen with its positions innermost: transposed before the taps read it.
TEST(AwkwardShapes, APictureThatIsTransposedForAWindowIsTransposedFirst) {
  const Structure structure = NestsOf(
      "x = f32[2,40,64] parameter(0) t = f32[2,64,40] transpose(x), dimensions={0,2,1} w = f32[64,1,4] parameter(1) "
      "ROOT c = f32[2,64,40] convolution(t, w), window={size=4 pad=3_0}, dim_labels=bf0_oi0->bf0, "
      "feature_group_count=64");
  const schedule::Schedule schedule = Preferred(structure);
  EXPECT_THAT(schedule.ToString(), Not(HasSubstr("compute_inline transpose")));
  EXPECT_THAT(schedule.ToString(), Not(HasSubstr("compute_at transpose")));
  ExpectLowersRight(schedule);
}

TEST(AwkwardShapes, SumsOverChannelsOfGroupsAreInVectors) {
  const Structure structure = NestsOf(
      "x = f32[4,16,64] parameter(0) m = f32[4,8] parameter(1) s = f32[4,16,8,8] reshape(x) "
      "b = f32[4,16,8,8] broadcast(m), dimensions={0,2} d = f32[4,16,8,8] subtract(s, b) r = f32[4,16,64] reshape(d) "
      "z = f32[] constant(0) ROOT y = f32[64] reduce(r, z), dimensions={0,1}, to_apply=sum");
  const Nest& nest = structure.main_nest();
  EXPECT_EQ(VectorAxis(*nest.main, nest.accesses), 0);
  ExpectLowersRight(Preferred(structure));
}

std::string TransposedLeft(int64_t rows) {
  return absl::StrCat("x = f32[256,", rows, "] parameter(0) y = f32[256,64] parameter(1) ROOT d = f32[", rows,
                      ",64] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}");
}

TEST(AwkwardShapes, RowsInLinesFarApartAreAskedForATileAhead) {
  const schedule::Schedule schedule = Preferred(NestsOf(TransposedLeft(4096)));
  EXPECT_THAT(schedule.ToString(), HasSubstr("prefetch p0 dot_0.local"));
  EXPECT_THAT(Preferred(NestsOf(TransposedLeft(512))).ToString(), Not(HasSubstr("prefetch"))) << "it is near";
}

TEST(AwkwardShapes, WeightsThatAreUpdatedAreAskedForAhead) {
  const auto update = [](int64_t rows) {
    const std::string shape = absl::StrCat("f32[", rows, ",320]");
    return absl::StrCat(
        "x = f32[16,", rows, "] parameter(0) y = f32[16,320] parameter(1) w = ", shape, " parameter(2) g = ", shape,
        " dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} ROOT u = ", shape, " subtract(w, g)");
  };
  EXPECT_THAT(Preferred(NestsOf(update(420))).ToString(), HasSubstr("prefetch p2 subtract_1"));
  EXPECT_THAT(Preferred(NestsOf(update(16))).ToString(), Not(HasSubstr("prefetch")));
  ExpectLowersRight(Preferred(NestsOf(update(420))));
  // A window is done before a line has come.
  EXPECT_THAT(Preferred(NestsOf("x = f32[2,128,128,8] parameter(0) w = f32[2,128,128,8] parameter(1) z = f32[] "
                                "constant(0) r = f32[2,128,128,8] reduce-window(x, z), window={size=1x3x3x1 "
                                "pad=0_0x1_1x1_1x0_0}, to_apply=sum ROOT u = f32[2,128,128,8] add(w, r)"))
                  .ToString(),
              Not(HasSubstr("prefetch")));
  // Loops of a result of other dimensions are fused: all that is known of these is that they walk over the whole.
  EXPECT_THAT(Preferred(NestsOf("x = f32[1922,16] parameter(0) y = f32[16,32] parameter(1) w = f32[2,31,31,32] "
                                "parameter(2) g = f32[1922,32] dot(x, y), lhs_contracting_dims={1}, "
                                "rhs_contracting_dims={0} r = f32[2,31,31,32] reshape(g) "
                                "ROOT u = f32[2,31,31,32] add(w, r)"))
                  .ToString(),
              Not(HasSubstr("prefetch")));
}

}  // namespace
}  // namespace smelt::kernels::nests
