// reshape_mover, transpose_folding, convert_mover, copy_removal, barrier_removal, bitcasts, sort_to_top_k,
// dot_dimension_merger.
#include "hlo/passes/barrier_removal.h"
#include "hlo/passes/bitcast_to_reshape.h"
#include "hlo/passes/convert_mover.h"
#include "hlo/passes/copy_removal.h"
#include "hlo/passes/dot_dimension_merger.h"
#include "hlo/passes/reshape_mover.h"
#include "hlo/passes/reshape_to_bitcast.h"
#include "hlo/passes/sort_to_top_k.h"
#include "hlo/passes/transpose_folding.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(MoveReshapes, TwoTransposesBecomeOneBehindAChain) {
  const auto module = Apply(R"(ENTRY e { x = f32[3,4] parameter(0) y = f32[3,4] parameter(1) z = f32[3,4] parameter(2)
      a = f32[4,3] transpose(x), dimensions={1,0} b = f32[4,3] transpose(y), dimensions={1,0} c = f32[4,3] transpose(z), dimensions={1,0}
      s = f32[4,3] add(a, b) ROOT r = f32[4,3] multiply(s, c) })",
                            MoveReshapes);
  EXPECT_EQ(OpcodesOf(*module), "add multiply transpose");
}

TEST(MoveReshapes, MeetsARearrangementBehindElementwiseWork) {
  const auto module = Apply(R"(ENTRY e { x = f32[3,4] parameter(0) a = f32[4,3] transpose(x), dimensions={1,0}
      two = f32[] constant(2) b = f32[4,3] broadcast(two), dimensions={} m = f32[4,3] multiply(a, b)
      ROOT r = f32[3,4] transpose(m), dimensions={1,0} })",
                            MoveReshapes);
  EXPECT_EQ(OpcodesOf(*module), "broadcast multiply transpose transpose");
}

TEST(MoveReshapes, BoundsOfClampStayScalars) {
  const auto module = Apply(
      R"(ENTRY e { x = f32[12] parameter(0) y = f32[12] parameter(1) z = f32[1] parameter(2) a = f32[] reshape(z)
      b = f32[3,4] reshape(x) c = f32[3,4] reshape(y) ROOT r = f32[3,4] clamp(a, b, c) })",
      MoveReshapes);
  EXPECT_EQ(OpcodesOf(*module), "reshape clamp reshape");
}

TEST(MoveReshapes, StaysWhereNothingIsGained) {
  Apply(
      R"(ENTRY e { x = f32[3,4] parameter(0) a = f32[4,3] transpose(x), dimensions={1,0} ROOT r = f32[4,3] negate(a) })",
      MoveReshapes, false);
  Apply(R"(ENTRY e { x = f32[12] parameter(0) y = f32[2,6] parameter(1) a = f32[3,4] reshape(x) b = f32[3,4] reshape(y)
      ROOT r = f32[3,4] add(a, b) })",
        MoveReshapes, false);
}

TEST(FoldTransposes, DotReadsEitherOrder) {
  const auto module =
      Apply(R"(ENTRY e { x = f32[4,3] parameter(0) y = f32[5,4] parameter(1) a = f32[3,4] transpose(x), dimensions={1,0}
      b = f32[4,5] transpose(y), dimensions={1,0} ROOT r = f32[3,5] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} })",
            FoldTransposes);
  EXPECT_EQ(OpcodesOf(*module), "dot");
}

TEST(FoldTransposes, BatchDimensionsMayStandAnywhere) {
  const auto module = Apply(
      R"(ENTRY e { x = f32[3,2,4] parameter(0) y = f32[2,4,5] parameter(1) a = f32[2,3,4] transpose(x), dimensions={1,0,2}
      ROOT r = f32[2,3,5] dot(a, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} })",
      FoldTransposes);
  EXPECT_EQ(OpcodesOf(*module), "dot");
}

// Each of the 64 products would read one element of every line of x.
TEST(FoldTransposes, ABatchIsNotInterleaved) {
  Apply(
      R"(ENTRY e { x = f32[10,16,64] parameter(0) y = f32[64,16] parameter(1) a = f32[64,10,16] transpose(x), dimensions={2,0,1}
      ROOT r = f32[64,10] dot(a, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} })",
      FoldTransposes, /*expect_change=*/false);
}

TEST(FoldTransposes, TheSameTransposeOnBothSides) {
  const auto module = Apply(R"(ENTRY e { x = f32[4,3] parameter(0) a = f32[3,4] transpose(x), dimensions={1,0}
      ROOT r = f32[3,3] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1} })",
                            FoldTransposes);
  EXPECT_EQ(OpcodesOf(*module), "dot");
}

TEST(FoldTransposes, KeepsTheOrderOfFreeDimensions) {
  Apply(R"(ENTRY e { x = f32[2,3,4] parameter(0) y = f32[4] parameter(1) a = f32[3,2,4] transpose(x), dimensions={1,0,2}
      ROOT r = f32[3,2] dot(a, y), lhs_contracting_dims={2}, rhs_contracting_dims={0} })",
        FoldTransposes, /*expect_change=*/false);
}

TEST(MoveConverts, WideningWaits) {
  const auto module =
      Apply(R"(ENTRY e { x = bf16[3,4] parameter(0) a = f32[3,4] convert(x) b = f32[4,3] transpose(a), dimensions={1,0}
      ROOT r = f32[2,3] slice(b), slice={[0:2], [0:3]} })",
            MoveConverts);
  EXPECT_EQ(OpcodesOf(*module), "transpose slice convert");
}

TEST(MoveConverts, WideningInTwoStepsWaitsAtOnce) {
  const auto module = Apply(R"(ENTRY e { x = s4[3,4] parameter(0) a = s8[3,4] convert(x) b = bf16[3,4] convert(a)
      ROOT r = bf16[4,3] transpose(b), dimensions={1,0} })",
                            MoveConverts);
  EXPECT_EQ(OpcodesOf(*module), "transpose convert convert");
}

TEST(MoveConverts, NarrowingComesEarly) {
  const auto module =
      Apply(R"(ENTRY e { x = f32[3,4] parameter(0) a = f32[4,3] transpose(x), dimensions={1,0} b = f32[12] reshape(a)
      ROOT r = bf16[12] convert(b) })",
            MoveConverts);
  EXPECT_EQ(OpcodesOf(*module), "convert transpose reshape");
}

TEST(MoveConverts, StaysWhereBothAreUsed) {
  Apply(
      R"(ENTRY e { x = f32[3,4] parameter(0) a = f32[12] reshape(x) b = bf16[12] convert(a) ROOT r = (f32[12], bf16[12]) tuple(a, b) })",
      MoveConverts, /*expect_change=*/false);
}

TEST(RemoveCopies, ACopyIsTheIdentity) {
  const auto module = Apply(
      R"(ENTRY e { x = f32[3,4] parameter(0) a = f32[3,4] copy(x) b = f32[3,4] copy(a) ROOT r = f32[3,4] negate(b) })",
      RemoveCopies);
  EXPECT_EQ(OpcodesOf(*module), "negate");
}

TEST(RemoveCopies, KeepsALayoutThatABitcastReads) {
  Apply(R"(HloModule m
    ENTRY e { x = f32[3,4]{1,0} parameter(0) a = f32[3,4]{0,1} copy(x) ROOT r = f32[4,3]{1,0} bitcast(a) })",
        RemoveCopies, /*expect_change=*/false);
  Apply(R"(HloModule m
    ENTRY e { x = f32[3,4]{1,0} parameter(0) a = f32[3,4]{0,1} copy(x) ROOT r = f32[3,4]{0,1} negate(a) })",
        RemoveCopies);
}

TEST(RemoveBarriers, ValuesPassThrough) {
  const auto module =
      Apply(R"(ENTRY e { x = f32[4] parameter(0) t = (f32[4], f32[4]) tuple(x, x) b = (f32[4], f32[4]) opt-barrier(t)
      ROOT r = f32[4] get-tuple-element(b), index=1 })",
            RemoveBarriers);
  EXPECT_EQ(OpcodesOf(*module), "tuple get-tuple-element");
}

TEST(Bitcasts, AreReshapesWhereMemoryIsRowMajor) {
  constexpr std::string_view kText = R"(HloModule m
    ENTRY e { x = f32[2,3]{1,0} parameter(0) a = f32[6]{0} bitcast(x) b = f32[6,1]{0,1} bitcast(a) ROOT r = f32[6,1]{0,1} negate(b) })";
  const auto reshapes = Apply(kText, BitcastsToReshapes);
  EXPECT_EQ(OpcodesOf(*reshapes), "reshape reshape negate");
  const auto bitcasts = Apply(ToText(*reshapes), ReshapesToBitcasts);
  EXPECT_EQ(Fingerprint(*bitcasts), Fingerprint(*Parse(kText)));
}

TEST(Bitcasts, StayWhereMemoryIsNotRowMajorOrTypesDiffer) {
  Apply(R"(HloModule m
    ENTRY e { x = f32[2,3]{0,1} parameter(0) a = f32[3,2]{1,0} bitcast(x) ROOT r = f32[3,2]{1,0} negate(a) })",
        BitcastsToReshapes, /*expect_change=*/false);
  const auto typed = Parse("ENTRY e { x = f32[2,3] parameter(0) ROOT a = s32[6] bitcast(x) }");
  EXPECT_FALSE(*BitcastsToReshapes(*typed));
}

TEST(MergeDotDimensions, ColoursJoinTheLinesOfAPicture) {
  const auto module = Apply(R"(ENTRY e { w = f32[4,5] parameter(0) x = f32[4,6,7,3] parameter(1)
      ROOT r = f32[5,6,7,3] dot(w, x), lhs_contracting_dims={0}, rhs_contracting_dims={0} })",
                            MergeDotDimensions);
  EXPECT_EQ(OpcodesOf(*module), "reshape dot reshape");
}

TEST(MergeDotDimensions, WhatIsSummedMayLieBehindOrBefore) {
  const auto behind = Apply(R"(ENTRY e { w = f32[4,2,5] parameter(0) x = f32[2,6,3,4] parameter(1)
      ROOT r = f32[2,5,6,3] dot(w, x), lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_contracting_dims={3} })",
                            MergeDotDimensions);
  EXPECT_EQ(OpcodesOf(*behind), "reshape dot reshape");
  const auto left = Apply(R"(ENTRY e { x = f32[9,4,8,3] parameter(0) v = f32[4] parameter(1)
      ROOT r = f32[9,8,3] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} })",
                          MergeDotDimensions);
  EXPECT_EQ(OpcodesOf(*left), "reshape dot reshape");
}

// Heads that share their keys, of a batch of one and with one head of keys.
TEST(MergeDotDimensions, ABatchOfOneBetweenIsNoObstacle) {
  const auto module = Apply(R"(ENTRY e { k = f32[1,9,1,7] parameter(0) q = f32[1,6,1,4,7] parameter(1)
      ROOT r = f32[1,1,9,6,4] dot(k, q), lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,2},
      rhs_contracting_dims={4} })",
                            MergeDotDimensions);
  EXPECT_EQ(OpcodesOf(*module), "reshape dot reshape");
}

TEST(MergeDotDimensions, StaysWhereVectorsAreFullOrNothingLiesBeside) {
  for (const char* text : {R"(ENTRY e { w = f32[4,5] parameter(0) x = f32[4,6,16] parameter(1)
           ROOT r = f32[5,6,16] dot(w, x), lhs_contracting_dims={0}, rhs_contracting_dims={0} })",
                           R"(ENTRY e { w = f32[4,5] parameter(0) x = f32[6,4,3] parameter(1)
           ROOT r = f32[5,6,3] dot(w, x), lhs_contracting_dims={0}, rhs_contracting_dims={1} })",
                           R"(ENTRY e { w = f32[4,5] parameter(0) x = f32[4,2,3] parameter(1)
           ROOT r = f32[5,2,3] dot(w, x), lhs_contracting_dims={0}, rhs_contracting_dims={0} })"}) {
    Apply(text, MergeDotDimensions, false);
  }
}

// A sort of lines of `type` beside their positions, of which `users` read `v` and `p`.
std::string SortOf(const std::string& type, const std::string& compare, const std::string& how,
                   const std::string& users) {
  return absl::StrCat("c { a = ", type, "[] parameter(0) b = ", type,
                      "[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) ROOT l = pred[] ", compare,
                      " }\nENTRY e { x = ", type, "[4,32] parameter(0) n = s32[32] iota(), iota_dimension=0\n",
                      "m = s32[4,32] broadcast(n), dimensions={1} s = (", type, "[4,32], s32[4,32]) sort(x, m), ", how,
                      ", to_apply=c\nv = ", type, "[4,32] get-tuple-element(s), index=0 ",
                      "p = s32[4,32] get-tuple-element(s), index=1\n", users, " }");
}

TEST(SortsToTopK, TheBeginningIsFoundAlone) {
  const std::string both =
      "y = f32[4,5] slice(v), slice={[0:4], [0:5]} q = s32[4,3] slice(p), slice={[0:4], [0:3]} "
      "ROOT t = (f32[4,5], s32[4,3]) tuple(y, q)";
  for (const char* compare : {"compare(a, b), direction=GT", "compare(a, b), direction=LT"}) {
    const auto module = Apply(SortOf("f32", compare, "dimensions={1}", both), SortsToTopK);
    EXPECT_THAT(OpcodesOf(*module), ::testing::HasSubstr("topk"));
    EXPECT_THAT(OpcodesOf(*module), ::testing::Not(::testing::HasSubstr("sort")));
  }
  const auto integers = Apply(SortOf("s32", "compare(a, b), direction=GT", "dimensions={1}, is_stable=true",
                                     "ROOT q = s32[4,8] slice(p), slice={[0:4], [0:8]}"),
                              SortsToTopK);
  EXPECT_THAT(OpcodesOf(*integers), ::testing::HasSubstr("topk"));
}

TEST(SortsToTopK, StaysWhereMoreIsReadOrTiesWouldDiffer) {
  const std::string few = "ROOT y = f32[4,5] slice(v), slice={[0:4], [0:5]}";
  const auto stays = [](const std::string& text) { Apply(text, SortsToTopK, false); };
  const std::string greater = "compare(a, b), direction=GT";
  stays(SortOf("f32", greater, "dimensions={1}, is_stable=true", few));
  stays(SortOf("f32", greater, "dimensions={0}", few));
  stays(SortOf("f32", "compare(b, a), direction=GT", "dimensions={1}", few));
  stays(SortOf("f32", "compare(i, j), direction=GT", "dimensions={1}", few));
  stays(SortOf("f32", greater, "dimensions={1}", "ROOT y = f32[4,20] slice(v), slice={[0:4], [0:20]}"));
  stays(SortOf("f32", greater, "dimensions={1}", "ROOT y = f32[4,5] slice(v), slice={[0:4], [1:6]}"));
  stays(SortOf("f32", greater, "dimensions={1}", "ROOT y = f32[2,5] slice(v), slice={[0:2], [0:5]}"));
  stays(SortOf("f32", greater, "dimensions={1}",
               "y = f32[4,5] slice(v), slice={[0:4], [0:5]} ROOT t = (f32[4,5], f32[4,32]) tuple(y, v)"));
}

}  // namespace
}  // namespace smelt::hlo
