// Layers by the names of the papers, as HLO: ResNet-18's convolutions C1 to C12 and MobileNet's depthwise ones D1 to D9
// (Table 2 of the TVM paper, Chen et al., OSDI 2018; NHWC, same padding), and products of matrices, each with a bias,
// convolutions with a rectifier behind them.
//
//   std::unique_ptr<hlo::Module> module = LayerModule("C6").value();
//   for (const std::string& name : LayerNames()) ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/module.h"
#include "hlo/text/parser.h"

namespace smelt::bench {

// A square picture of `size`, `in` channels to `out`, or, where `depthwise`, each channel by itself.
struct ConvolutionLayer {
  const char* name;
  int64_t size, in, out, kernel, stride;
  bool depthwise = false;
};
inline constexpr ConvolutionLayer kConvolutions[] = {
    {"C1", 224, 3, 64, 7, 2},         {"C2", 56, 64, 64, 3, 1},         {"C3", 56, 64, 64, 1, 1},
    {"C4", 56, 64, 128, 3, 2},        {"C5", 56, 64, 128, 1, 2},        {"C6", 28, 128, 128, 3, 1},
    {"C7", 28, 128, 256, 3, 2},       {"C8", 28, 128, 256, 1, 2},       {"C9", 14, 256, 256, 3, 1},
    {"C10", 14, 256, 512, 3, 2},      {"C11", 14, 256, 512, 1, 2},      {"C12", 7, 512, 512, 3, 1},
    {"D1", 112, 32, 32, 3, 1, true},  {"D2", 112, 64, 64, 3, 2, true},  {"D3", 56, 128, 128, 3, 1, true},
    {"D4", 56, 128, 128, 3, 2, true}, {"D5", 28, 256, 256, 3, 1, true}, {"D6", 28, 256, 256, 3, 2, true},
    {"D7", 14, 512, 512, 3, 1, true}, {"D8", 14, 512, 512, 3, 2, true}, {"D9", 7, 1024, 1024, 3, 1, true}};

struct ProductLayer {
  const char* name;
  int64_t rows, columns, sum;
};
inline constexpr ProductLayer kProducts[] = {{"mm_1024", 1024, 1024, 1024},
                                             {"mm_4096x4096x64", 4096, 4096, 64},
                                             {"mm_4096x64x4096", 4096, 64, 4096},
                                             {"mm_512", 512, 512, 512},
                                             {"bert_qkvo", 128, 768, 768},
                                             {"bert_ffn1", 128, 3072, 768},
                                             {"bert_ffn2", 128, 768, 3072},
                                             {"bert_qk", 128, 128, 64},
                                             {"bert_av", 128, 64, 128},
                                             {"lm_head", 1, 10000, 650},
                                             {"lstm", 1, 2600, 650}};

inline std::vector<std::string> LayerNames() {
  std::vector<std::string> names;
  for (const ConvolutionLayer& layer : kConvolutions) names.push_back(layer.name);
  for (const ProductLayer& layer : kProducts) names.push_back(layer.name);
  return names;
}

inline std::string TextOf(const ConvolutionLayer& layer) {
  const int64_t out_size = (layer.size + layer.stride - 1) / layer.stride;
  const int64_t padding = std::max<int64_t>((out_size - 1) * layer.stride + layer.kernel - layer.size, 0);
  const std::string pad = absl::StrCat(padding / 2, "_", padding - padding / 2);
  const std::string result = absl::StrCat("f32[1,", out_size, ",", out_size, ",", layer.out, "]");
  return absl::StrCat(
      "HloModule ", layer.name, "\nENTRY e {\n  x = f32[1,", layer.size, ",", layer.size, ",", layer.in,
      "] parameter(0)\n  w = f32[", layer.kernel, ",", layer.kernel, ",", layer.depthwise ? 1 : layer.in, ",",
      layer.out, "] parameter(1)\n  b = f32[", layer.out, "] parameter(2)\n  c = ", result,
      " convolution(x, w), window={size=", layer.kernel, "x", layer.kernel, " stride=", layer.stride, "x", layer.stride,
      " pad=", pad, "x", pad, "}, dim_labels=b01f_01io->b01f",
      layer.depthwise ? absl::StrCat(", feature_group_count=", layer.in) : "", "\n  bias = ", result,
      " broadcast(b), dimensions={3}\n  sum = ", result, " add(c, bias)\n  zero = f32[] constant(0)\n",
      "  zeros = ", result, " broadcast(zero), dimensions={}\n  ROOT r = ", result, " maximum(sum, zeros)\n}\n");
}

inline std::string TextOf(const ProductLayer& layer) {
  const std::string result = absl::StrCat("f32[", layer.rows, ",", layer.columns, "]");
  return absl::StrCat("HloModule ", layer.name, "\nENTRY e {\n  x = f32[", layer.rows, ",", layer.sum,
                      "] parameter(0)\n  w = f32[", layer.sum, ",", layer.columns, "] parameter(1)\n  b = f32[",
                      layer.columns, "] parameter(2)\n  p = ", result,
                      " dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  bias = ", result,
                      " broadcast(b), dimensions={1}\n  ROOT r = ", result, " add(p, bias)\n}\n");
}

// NotFound: no layer has this name. `shrink` divides sizes of pictures, rows, columns and sums, so that the evaluator
// takes less time over them; nothing becomes smaller than a few elements.
inline absl::StatusOr<std::unique_ptr<hlo::Module>> LayerModule(const std::string& name, int64_t shrink = 1) {
  const auto less = [&](int64_t extent) { return std::max(std::min<int64_t>(extent, 8), extent / shrink); };
  for (ConvolutionLayer layer : kConvolutions) {
    if (layer.name != name) continue;
    layer.size = less(layer.size);
    return hlo::ParseModule(TextOf(layer));
  }
  for (ProductLayer layer : kProducts) {
    if (layer.name != name) continue;
    layer.rows = less(layer.rows);
    layer.columns = less(layer.columns);
    layer.sum = less(layer.sum);
    return hlo::ParseModule(TextOf(layer));
  }
  return absl::NotFoundError(
      absl::StrCat("no layer is called `", name, "`; there are: ", absl::StrJoin(LayerNames(), " ")));
}

}  // namespace smelt::bench
