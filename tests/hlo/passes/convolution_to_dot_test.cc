#include "hlo/passes/convolution_to_dot.h"

#include "tests/hlo/passes/pass_testing.h"

namespace smelt::hlo {
namespace {

TEST(ConvolutionsToDots, PixelsAreTheRowsOfAProduct) {
  const auto module = Apply(R"(ENTRY e { x = f32[2,5,3,4] parameter(0) w = f32[1,1,4,6] parameter(1)
      ROOT r = f32[2,5,3,6] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f, operand_precision={highest,highest} })",
                            ConvolutionsToDots);
  EXPECT_EQ(OpcodesOf(*module), "reshape reshape dot reshape");
  EXPECT_NE(ToText(*module).find("%r = f32[30,6]"), std::string::npos) << "the product keeps the name";
  EXPECT_NE(ToText(*module).find("operand_precision={highest,highest}"), std::string::npos);
}

TEST(ConvolutionsToDots, StridesTakeSomeOfThem) {
  const auto module = Apply(R"(ENTRY e { x = f32[2,7,6,4] parameter(0) w = f32[1,1,4,6] parameter(1)
      ROOT r = f32[2,4,2,6] convolution(x, w), window={size=1x1 stride=2x3}, dim_labels=b01f_01io->b01f })",
                            ConvolutionsToDots);
  EXPECT_EQ(OpcodesOf(*module), "slice reshape reshape dot reshape");
}

TEST(ConvolutionsToDots, KernelsMayLieEitherWayAndWindowsMayBeReversed) {
  const auto module = Apply(R"(ENTRY e { x = s8[3,5,4] parameter(0) w = s8[6,4,1] parameter(1)
      ROOT r = s32[3,5,6] convolution(x, w), window={size=1 rhs_reversal=1 rhs_dilate=3}, dim_labels=b0f_oi0->b0f })",
                            ConvolutionsToDots);
  EXPECT_EQ(OpcodesOf(*module), "reshape reshape dot reshape");
}

TEST(ConvolutionsToDots, WithoutSpatialDimensionsItIsOneAlready) {
  const auto module = Apply(R"(ENTRY e { x = f32[3,4] parameter(0) w = f32[4,6] parameter(1)
      ROOT r = f32[3,6] convolution(x, w), dim_labels=bf_io->bf })",
                            ConvolutionsToDots);
  EXPECT_EQ(OpcodesOf(*module).find("convolution"), std::string::npos);
}

TEST(ConvolutionsToDots, OthersStay) {
  for (const char* text :
       {// A larger window, padding, dilation, groups, another order.
        "ENTRY e { x = f32[1,5,3,4] parameter(0) w = f32[2,1,4,6] parameter(1) "
        "ROOT r = f32[1,4,3,6] convolution(x, w), window={size=2x1}, dim_labels=b01f_01io->b01f }",
        "ENTRY e { x = f32[1,5,3,4] parameter(0) w = f32[1,1,4,6] parameter(1) "
        "ROOT r = f32[1,6,3,6] convolution(x, w), window={size=1x1 pad=0_1x0_0}, dim_labels=b01f_01io->b01f }",
        "ENTRY e { x = f32[1,5,3,4] parameter(0) w = f32[1,1,4,6] parameter(1) "
        "ROOT r = f32[1,9,3,6] convolution(x, w), window={size=1x1 lhs_dilate=2x1}, dim_labels=b01f_01io->b01f }",
        "ENTRY e { x = f32[1,5,3,4] parameter(0) w = f32[1,1,2,6] parameter(1) "
        "ROOT r = f32[1,5,3,6] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f, feature_group_count=2 "
        "}",
        "ENTRY e { x = f32[2,5,3,4] parameter(0) w = f32[1,1,4,6] parameter(1) "
        "ROOT r = f32[1,5,3,6] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f, batch_group_count=2 }",
        "ENTRY e { x = f32[1,4,5,3] parameter(0) w = f32[1,1,4,6] parameter(1) "
        "ROOT r = f32[1,6,5,3] convolution(x, w), window={size=1x1}, dim_labels=bf01_01io->bf01 }"}) {
    Apply(text, ConvolutionsToDots, false);
  }
}

}  // namespace
}  // namespace smelt::hlo
