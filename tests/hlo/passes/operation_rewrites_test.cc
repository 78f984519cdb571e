// convolution_canonicalizer, gather_simplifier, map_inliner, conditional_simplifier.
#include "hlo/passes/conditional_simplifier.h"
#include "hlo/passes/convolution_canonicalizer.h"
#include "hlo/passes/gather_simplifier.h"
#include "hlo/passes/map_inliner.h"
#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(CanonicalizeConvolutions, TheWindowPads) {
  const auto module =
      Apply(R"(ENTRY e { x = f32[1,5,6,3] parameter(0) w = f32[3,3,3,2] parameter(1) z = f32[] constant(0)
      p = f32[1,8,8,3] pad(x, z), padding=0_0x1_2x1_1x0_0
      ROOT r = f32[1,8,4,2] convolution(p, w), window={size=3x3 stride=1x2 pad=1_1x0_1}, dim_labels=b01f_01io->b01f })",
            CanonicalizeConvolutions);
  EXPECT_EQ(OpcodesOf(*module), "convolution");
}

TEST(CanonicalizeConvolutions, InteriorPaddingIsDilation) {
  const auto module =
      Apply(R"(ENTRY e { x = f32[1,4,4,2] parameter(0) w = f32[3,3,2,2] parameter(1) z = f32[] constant(0)
      p = f32[1,9,7,2] pad(x, z), padding=0_0x1_1_1x0_0_1x0_0
      ROOT r = f32[1,7,5,2] convolution(p, w), window={size=3x3}, dim_labels=b01f_01io->b01f })",
            CanonicalizeConvolutions);
  EXPECT_EQ(OpcodesOf(*module), "convolution");
}

TEST(CanonicalizeConvolutions, TheWindowReverses) {
  const auto module = Apply(
      R"(ENTRY e { x = f32[1,5,6,3] parameter(0) w = f32[3,2,3,2] parameter(1) v = f32[3,2,3,2] reverse(w), dimensions={0,1}
      ROOT r = f32[1,3,5,2] convolution(x, v), window={size=3x2}, dim_labels=b01f_01io->b01f })",
      CanonicalizeConvolutions);
  EXPECT_EQ(OpcodesOf(*module), "convolution");
}

TEST(CanonicalizeConvolutions, KeepsOtherPaddings) {
  // Padded with another value; padded features.
  Apply(
      R"(ENTRY e { x = f32[1,5,3] parameter(0) w = f32[3,3,2] parameter(1) z = f32[] constant(1) p = f32[1,7,3] pad(x, z), padding=0_0x1_1x0_0
      ROOT r = f32[1,5,2] convolution(p, w), window={size=3}, dim_labels=b0f_0io->b0f })",
      CanonicalizeConvolutions, false);
  Apply(
      R"(ENTRY e { x = f32[1,5,2] parameter(0) w = f32[3,3,2] parameter(1) z = f32[] constant(0) p = f32[1,5,3] pad(x, z), padding=0_0x0_0x0_1
      ROOT r = f32[1,3,2] convolution(p, w), window={size=3}, dim_labels=b0f_0io->b0f })",
      CanonicalizeConvolutions, false);
}

TEST(SimplifyGathers, OneRowIsADynamicSlice) {
  const auto module = Apply(R"(ENTRY e { x = f32[6,5] parameter(0) i = s32[1,1] parameter(1)
      ROOT g = f32[1,5] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5} })",
                            SimplifyGathers);
  EXPECT_EQ(OpcodesOf(*module), "reshape dynamic-slice");
}

TEST(SimplifyGathers, ClampsAsTheGatherDid) {
  const auto module =
      Apply(R"(ENTRY e { x = f32[6,5] parameter(0) j = s32[] parameter(1) k = s32[] constant(100) i = s32[] add(j, k)
      ROOT g = f32[2,3] gather(x, i), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={1}, index_vector_dim=0, slice_sizes={2,3} })",
            SimplifyGathers);
  EXPECT_EQ(OpcodesOf(*module), "add dynamic-slice");
}

TEST(SimplifyGathers, ManyRowsStayAGather) {
  Apply(R"(ENTRY e { x = f32[6,5] parameter(0) i = s32[3,1] parameter(1)
      ROOT g = f32[3,5] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5} })",
        SimplifyGathers, /*expect_change=*/false);
}

TEST(InlineMaps, ScalarWorkBecomesArrays) {
  const auto module = Apply(R"(HloModule m
    f { p = f32[] parameter(0) q = f32[] parameter(1) c = f32[] constant(2) d = f32[] multiply(p, c) t = pred[] compare(d, q), direction=LT
      ROOT s = f32[] select(t, d, q) }
    ENTRY e { x = f32[3,4] parameter(0) y = f32[3,4] parameter(1) ROOT r = f32[3,4] map(x, y), dimensions={0,1}, to_apply=f })",
                            InlineMaps);
  EXPECT_EQ(OpcodesOf(*module), "broadcast multiply compare select");
}

TEST(SimplifyConditionals, AKnownBranchIsPlainCode) {
  constexpr std::string_view kBranches = R"(HloModule m
    f { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
    g { p = f32[4] parameter(0) ROOT n = f32[4] exponential(p) }
    h { p = f32[4] parameter(0) ROOT n = f32[4] cosine(p) }
    ENTRY e { x = f32[4] parameter(0) y = f32[4] parameter(1) z = f32[4] parameter(2) )";
  const auto predicate = Apply(
      StrCat(
          kBranches,
          "c = pred[] constant(false) ROOT r = f32[4] conditional(c, x, y), true_computation=f, false_computation=g }"),
      SimplifyConditionals);
  EXPECT_EQ(OpcodesOf(*predicate), "exponential");
  const auto index =
      Apply(StrCat(kBranches,
                   "c = s32[] constant(1) ROOT r = f32[4] conditional(c, x, y, z), branch_computations={f, g, h} }"),
            SimplifyConditionals);
  EXPECT_EQ(OpcodesOf(*index), "exponential");
  const auto outside =
      Apply(StrCat(kBranches,
                   "c = s32[] constant(-5) ROOT r = f32[4] conditional(c, x, y, z), branch_computations={f, g, h} }"),
            SimplifyConditionals);
  EXPECT_EQ(OpcodesOf(*outside), "cosine");
  Apply(StrCat(kBranches,
               "c = s32[] parameter(3) ROOT r = f32[4] conditional(c, x, y, z), branch_computations={f, g, h} }"),
        SimplifyConditionals, /*expect_change=*/false);
}

}  // namespace
}  // namespace smelt::hlo
