// Convolutions: plain, depthwise, grouped, transposed, and gradients of weights.
#include "tests/kernels/agreement/snippets.h"

namespace smelt::kernels {

std::vector<Snippet> ConvolutionSnippets() {
  return {
      {"Convolution", R"(x = f32[1,10,11,6] parameter(0)  w = f32[3,3,6,34] parameter(1)
        ROOT r = f32[1,10,11,34] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f)"},
      {"ConvolutionStrided", R"(x = f32[2,13,13,3] parameter(0)  w = f32[7,7,3,16] parameter(1)
        ROOT r = f32[2,7,7,16] convolution(x, w), window={size=7x7 stride=2x2 pad=3_3x3_3}, dim_labels=b01f_01io->b01f)"},
      {"Convolution1x1", R"(x = f32[1,7,7,20] parameter(0)  w = f32[1,1,20,48] parameter(1)
        ROOT r = f32[1,7,7,48] convolution(x, w), window={size=1x1}, dim_labels=b01f_01io->b01f)"},
      {"Convolution1x1Strided", R"(x = f32[1,8,8,20] parameter(0)  w = f32[1,1,20,48] parameter(1)
        ROOT r = f32[1,4,4,48] convolution(x, w), window={size=1x1 stride=2x2}, dim_labels=b01f_01io->b01f)"},
      {"ConvolutionBiasRelu", R"(x = f32[1,9,9,8] parameter(0)  w = f32[3,3,8,32] parameter(1)  b = f32[32] parameter(2)
        y = f32[1,9,9,32] parameter(3)
        c = f32[1,9,9,32] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
        d = f32[1,9,9,32] broadcast(b), dimensions={3}  e = f32[1,9,9,32] add(c, d)  f = f32[1,9,9,32] add(e, y)
        z = f32[] constant(0)  g = f32[1,9,9,32] broadcast(z), dimensions={}  ROOT r = f32[1,9,9,32] maximum(f, g))"},
      {"ConvolutionFusedInput",
       R"(x = f32[1,9,9,8] parameter(0)  w = f32[3,3,8,32] parameter(1)  s = f32[8] parameter(2)
        t = f32[1,9,9,8] broadcast(s), dimensions={3}  u = f32[1,9,9,8] multiply(x, t)  z = f32[] constant(0)
        g = f32[1,9,9,8] broadcast(z), dimensions={}  v = f32[1,9,9,8] maximum(u, g)
        ROOT c = f32[1,9,9,32] convolution(v, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f)"},
      {"ConvolutionNCHW", R"(x = f32[2,6,9,10] parameter(0)  w = f32[17,6,3,3] parameter(1)
        ROOT r = f32[2,17,9,10] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01)"},
      {"Depthwise", R"(x = f32[1,9,9,24] parameter(0)  w = f32[3,3,1,24] parameter(1)
        ROOT r = f32[1,9,9,24] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=24)"},
      {"DepthwiseFiveStridedUneven",
       R"(x = f32[2,11,8,40] parameter(0)  w = f32[5,5,1,40] parameter(1)  s = f32[40] parameter(2)
        c = f32[2,6,4,40] convolution(x, w), window={size=5x5 stride=2x2 pad=2_3x1_2}, dim_labels=b01f_01io->b01f, feature_group_count=40
        t = f32[2,6,4,40] broadcast(s), dimensions={3}  ROOT r = f32[2,6,4,40] multiply(c, t))"},
      {"DepthwiseDilated", R"(x = f32[1,12,9,20] parameter(0)  w = f32[3,3,1,20] parameter(1)
        ROOT r = f32[1,12,9,20] convolution(x, w), window={size=3x3 pad=2_2x2_2 rhs_dilate=2x2}, dim_labels=b01f_01io->b01f, feature_group_count=20)"},
      {"DepthwiseOfClamped", R"(x = f32[1,9,9,80] parameter(0)  w = f32[3,3,1,80] parameter(1)  z = f32[] constant(0)
        b = f32[1,9,9,80] broadcast(z), dimensions={}  m = f32[1,9,9,80] maximum(x, b)
        c = f32[1,9,9,80] convolution(m, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=80
        ROOT r = f32[1,9,9,80] maximum(c, b))"},
      {"DepthwiseLines", R"(x = f32[2,9,11,40] parameter(0)  w = f32[3,3,1,40] parameter(1)  b = f32[40] parameter(2)
        c = f32[2,5,11,40] convolution(x, w), window={size=3x3 stride=2x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=40
        d = f32[2,5,11,40] broadcast(b), dimensions={3}  ROOT r = f32[2,5,11,40] add(c, d))"},
      {"DepthwiseLinesOfHalves", R"(x = bf16[1,7,8,64] parameter(0)  w = bf16[3,3,1,64] parameter(1)
        ROOT r = bf16[1,7,8,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=64)"},
      {"DepthwiseLarge", R"(x = f32[1,10,10,16] parameter(0)  w = f32[7,7,1,16] parameter(1)
        ROOT r = f32[1,10,10,16] convolution(x, w), window={size=7x7 pad=3_3x3_3}, dim_labels=b01f_01io->b01f, feature_group_count=16)"},
      {"KernelGradient",
       R"(x = f32[8,12,12,1] parameter(0)  g = f32[8,6,6,16] parameter(1)  w = f32[3,3,1,16] parameter(2)
        c = f32[3,3,1,16] convolution(x, g), window={size=6x6 pad=0_1x0_1 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf
        ROOT r = f32[3,3,1,16] add(w, c))"},
      {"DepthwiseGradient", R"(x = f32[3,9,11,40] parameter(0)  g = f32[3,9,11,40] parameter(1)
        ROOT r = f32[3,3,1,40] convolution(x, g), window={size=9x11 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, batch_group_count=40)"},
      {"DepthwiseGradientStrided",
       R"(x = f32[2,12,11,20] parameter(0)  g = f32[2,6,6,20] parameter(1)  w = f32[5,5,1,20] parameter(2)
        c = f32[5,5,1,20] convolution(x, g), window={size=6x6 pad=1_2x2_2 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf, batch_group_count=20
        ROOT r = f32[5,5,1,20] subtract(w, c))"},
      {"DepthwiseGradientLarge", R"(x = bf16[2,8,9,18] parameter(0)  g = bf16[2,8,9,18] parameter(1)
        ROOT r = bf16[7,7,1,18] convolution(x, g), window={size=8x9 pad=3_3x3_3}, dim_labels=f01b_i01o->01bf, batch_group_count=18)"},
      {"DepthwiseGradientChannelsFirst", R"(x = f32[3,24,40] parameter(0)  g = f32[3,24,40] parameter(1)
        ROOT r = f32[24,1,4] convolution(x, g), window={size=40 pad=3_0}, dim_labels=fb0_io0->fb0, batch_group_count=24)"},
      {"DepthwiseStridedMultiplier", R"(x = f32[1,9,9,6] parameter(0)  w = f32[3,3,1,12] parameter(1)
        ROOT r = f32[1,4,4,12] convolution(x, w), window={size=3x3 stride=2x2}, dim_labels=b01f_01io->b01f, feature_group_count=6)"},
      {"Grouped", R"(x = f32[1,8,8,12] parameter(0)  w = f32[3,3,4,18] parameter(1)
        ROOT r = f32[1,6,6,18] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=3)"},
      {"GroupedAsWideAsVectors", R"(x = f32[1,12,12,64] parameter(0)  w = f32[3,3,16,64] parameter(1)
        ROOT r = f32[1,12,12,64] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=4)"},
      {"BatchGrouped", R"(x = f32[6,8,8,4] parameter(0)  w = f32[3,3,4,6] parameter(1)
        ROOT r = f32[2,6,6,6] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=3)"},
      {"ConvolutionTransposed", R"(x = f32[1,4,4,8] parameter(0)  w = f32[4,4,8,18] parameter(1)
        ROOT r = f32[1,8,8,18] convolution(x, w), window={size=4x4 pad=2_2x2_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f)"},
      {"ConvolutionTransposedOdd", R"(x = f32[1,5,4,6] parameter(0)  w = f32[5,3,6,7] parameter(1)
        b = f32[7] parameter(2)
        c = f32[1,9,11,7] convolution(x, w), window={size=5x3 pad=2_2x1_2 lhs_dilate=2x3}, dim_labels=b01f_01io->b01f
        d = f32[1,9,11,7] broadcast(b), dimensions={3}  e = f32[1,9,11,7] add(c, d)  ROOT r = f32[1,9,11,7] tanh(e))"},
      {"ConvolutionToPicture", R"(x = f32[1,4,18,4] parameter(0)  w = f32[5,5,4,3] parameter(1)
        c = f32[1,8,36,3] convolution(x, w), window={size=5x5 pad=3_2x3_2 lhs_dilate=2x2}, dim_labels=b01f_01io->b01f
        ROOT r = f32[1,8,36,3] tanh(c))"},
      {"ConvolutionToOneFeature", R"(x = f32[1,7,33,6] parameter(0)  w = f32[3,3,6,1] parameter(1)
        ROOT r = f32[1,7,33,1] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f)"},
      {"ConvolutionDilatedReversed", R"(x = f32[1,9,9,4] parameter(0)  w = f32[3,3,4,5] parameter(1)
        ROOT r = f32[1,5,5,5] convolution(x, w), window={size=3x3 rhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f)"},
      {"ConvolutionWeightGradient", R"(x = f32[4,9,9,5] parameter(0)  g = f32[4,9,9,17] parameter(1)
        ROOT r = f32[3,3,5,17] convolution(x, g), window={size=9x9 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf)"},
      {"Convolution1D", R"(x = f32[2,30,6] parameter(0)  w = f32[5,6,20] parameter(1)
        ROOT r = f32[2,26,20] convolution(x, w), window={size=5}, dim_labels=b0f_0io->b0f)"},
      {"ConvolutionNegativePadding", R"(x = f32[1,9,9,4] parameter(0)  w = f32[3,3,4,5] parameter(1)
        ROOT r = f32[1,5,5,5] convolution(x, w), window={size=3x3 pad=-1_-1x-1_-1}, dim_labels=b01f_01io->b01f)"},
  };
}

}  // namespace smelt::kernels
