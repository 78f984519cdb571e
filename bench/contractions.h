// Convolutions and matrix products that speed is judged by: ResNet-18's convolutions C1 to C12 and MobileNet's
// depthwise D1 to D9 (Chen et al., OSDI 2018, Table 2), ResNet-50's of one tap, the products of BERT and of an LSTM,
// and square and narrow ones.
//
//   std::string text = HloText(kContractions[0]);   // a module with the layer, a bias and, for convolutions, a ReLU
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace smelt::bench {

struct Contraction {
  enum class Kind : uint8_t { kConvolution, kDepthwise, kProduct };
  const char* name;
  Kind kind;
  // Convolution: size of the square picture, channels in, channels out, taps a side, stride. Product: rows, columns,
  // terms, batch.
  int64_t shape[5];
};

inline constexpr auto kConvolution = Contraction::Kind::kConvolution;
inline constexpr auto kDepthwise = Contraction::Kind::kDepthwise;
inline constexpr auto kProduct = Contraction::Kind::kProduct;

inline constexpr Contraction kContractions[] = {
    {"C1", kConvolution, {224, 3, 64, 7, 2}},
    {"C2", kConvolution, {56, 64, 64, 3, 1}},
    {"C3", kConvolution, {56, 64, 64, 1, 1}},
    {"C4", kConvolution, {56, 64, 128, 3, 2}},
    {"C5", kConvolution, {56, 64, 128, 1, 2}},
    {"C6", kConvolution, {28, 128, 128, 3, 1}},
    {"C7", kConvolution, {28, 128, 256, 3, 2}},
    {"C8", kConvolution, {28, 128, 256, 1, 2}},
    {"C9", kConvolution, {14, 256, 256, 3, 1}},
    {"C10", kConvolution, {14, 256, 512, 3, 2}},
    {"C11", kConvolution, {14, 256, 512, 1, 2}},
    {"C12", kConvolution, {7, 512, 512, 3, 1}},
    {"D1", kDepthwise, {112, 32, 32, 3, 1}},
    {"D2", kDepthwise, {112, 64, 64, 3, 2}},
    {"D3", kDepthwise, {56, 128, 128, 3, 1}},
    {"D4", kDepthwise, {56, 128, 128, 3, 2}},
    {"D5", kDepthwise, {28, 256, 256, 3, 1}},
    {"D6", kDepthwise, {28, 256, 256, 3, 2}},
    {"D7", kDepthwise, {14, 512, 512, 3, 1}},
    {"D8", kDepthwise, {14, 512, 512, 3, 2}},
    {"D9", kDepthwise, {7, 1024, 1024, 3, 1}},
    {"resnet50_64_256", kConvolution, {56, 64, 256, 1, 1}},
    {"resnet50_256_64", kConvolution, {56, 256, 64, 1, 1}},
    {"resnet50_256_128", kConvolution, {56, 256, 128, 1, 1}},
    {"resnet50_256_512_s2", kConvolution, {56, 256, 512, 1, 2}},
    {"resnet50_128_512", kConvolution, {28, 128, 512, 1, 1}},
    {"resnet50_512_128", kConvolution, {28, 512, 128, 1, 1}},
    {"resnet50_512_256", kConvolution, {28, 512, 256, 1, 1}},
    {"resnet50_512_1024_s2", kConvolution, {28, 512, 1024, 1, 2}},
    {"resnet50_256_1024", kConvolution, {14, 256, 1024, 1, 1}},
    {"resnet50_1024_256", kConvolution, {14, 1024, 256, 1, 1}},
    {"resnet50_1024_512", kConvolution, {14, 1024, 512, 1, 1}},
    {"resnet50_1024_2048_s2", kConvolution, {14, 1024, 2048, 1, 2}},
    {"resnet50_512_2048", kConvolution, {7, 512, 2048, 1, 1}},
    {"resnet50_2048_512", kConvolution, {7, 2048, 512, 1, 1}},
    {"bert_projection", kProduct, {128, 768, 768, 1}},
    {"bert_ffn1", kProduct, {128, 3072, 768, 1}},
    {"bert_ffn2", kProduct, {128, 768, 3072, 1}},
    {"bert_scores", kProduct, {128, 128, 64, 12}},
    {"bert_values", kProduct, {128, 64, 128, 12}},
    {"lstm_step", kProduct, {1, 2600, 650, 1}},
    {"lstm_head", kProduct, {1, 10000, 650, 1}},
    {"512x512x512", kProduct, {512, 512, 512, 1}},
    {"1024x1024x1024", kProduct, {1024, 1024, 1024, 1}},
    {"4096x64x4096", kProduct, {4096, 64, 4096, 1}},
    {"4096x4096x64", kProduct, {4096, 4096, 64, 1}},
    {"1024x256x1024", kProduct, {1024, 256, 1024, 1}},
};

inline int64_t OutSize(const Contraction& c) { return (c.shape[0] + c.shape[4] - 1) / c.shape[4]; }

// Floating-point operations, a multiply-add counted as two.
inline double FlopsOf(const Contraction& c) {
  if (c.kind == kProduct) return 2.0 * c.shape[0] * c.shape[1] * c.shape[2] * c.shape[3];
  const double sum = (c.kind == kDepthwise ? 1.0 : c.shape[1]) * c.shape[3] * c.shape[3];
  return 2.0 * OutSize(c) * OutSize(c) * c.shape[2] * sum;
}

// The layer as a module of one kernel: channels last, weights as a parameter, the padding that keeps the size.
inline std::string HloText(const Contraction& c) {
  const int64_t* s = c.shape;
  if (c.kind == kProduct && s[3] == 1) {
    return absl::Substitute(R"(HloModule m
ENTRY e {
  x = f32[$0,$2] parameter(0)
  y = f32[$2,$1] parameter(1)
  ROOT d = f32[$0,$1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)",
                            s[0], s[1], s[2]);
  }
  if (c.kind == kProduct) {
    return absl::Substitute(R"(HloModule m
ENTRY e {
  x = f32[$3,$0,$2] parameter(0)
  y = f32[$3,$2,$1] parameter(1)
  ROOT d = f32[$3,$0,$1] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
}
)",
                            s[0], s[1], s[2], s[3]);
  }
  const int64_t out = OutSize(c);
  const int64_t padding = std::max<int64_t>((out - 1) * s[4] + s[3] - s[0], 0);
  const std::string pad = absl::StrCat(padding / 2, "_", padding - padding / 2);
  const bool depthwise = c.kind == kDepthwise;
  return absl::StrCat(
      absl::Substitute("HloModule m\nENTRY e {\n  x = f32[1,$0,$0,$1] parameter(0)\n", s[0], s[1]),
      absl::Substitute("  w = f32[$0,$0,$1,$2] parameter(1)\n  b = f32[$2] parameter(2)\n", s[3], depthwise ? 1 : s[1],
                       s[2]),
      absl::Substitute("  c = f32[1,$0,$0,$1] convolution(x, w), window={size=$2x$2 stride=$3x$3 pad=$4x$4}, "
                       "dim_labels=b01f_01io->b01f",
                       out, s[2], s[3], s[4], pad),
      depthwise ? absl::StrCat(", feature_group_count=", s[1]) : "",
      absl::Substitute("\n  bb = f32[1,$0,$0,$1] broadcast(b), dimensions={3}\n  a = f32[1,$0,$0,$1] add(c, bb)\n"
                       "  z = f32[] constant(0)\n  zz = f32[1,$0,$0,$1] broadcast(z), dimensions={}\n"
                       "  ROOT r = f32[1,$0,$0,$1] maximum(a, zz)\n}\n",
                       out, s[2]));
}

}  // namespace smelt::bench
