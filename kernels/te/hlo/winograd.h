// Convolutions by minimal filtering: Winograd's F(m x m, 3 x 3) as stages of tensor expressions (Lavin and Gray, Fast
// Algorithms for Convolutional Neural Networks, Section 4.1).
//
//   border        the input with its padding, large enough for whole tiles
//   input         a tile of (m+2) x (m+2) elements, transformed: (m+2)^2 numbers, by rows first (input_half)
//   weights       a window of 3 x 3 taps, transformed likewise (weights_half)
//   product       for each of these numbers a matrix product of tiles and features, summed over input features
//   output        its results transformed back to m x m elements of the output (output_half)
//   result        these, put where they belong; what lies beyond the output's edge is not read
//
// The stages' tags say which is which, for whoever schedules them (templates/winograd.cc).
#pragma once

#include <string_view>

#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {

inline constexpr std::string_view kWinogradBorder = "winograd-border";
inline constexpr std::string_view kWinogradInputHalf = "winograd-input-half";
inline constexpr std::string_view kWinogradInput = "winograd-input";
inline constexpr std::string_view kWinogradWeightsHalf = "winograd-weights-half";
inline constexpr std::string_view kWinogradWeights = "winograd-weights";
inline constexpr std::string_view kWinogradProduct = "winograd-product";
inline constexpr std::string_view kWinogradOutputHalf = "winograd-output-half";
inline constexpr std::string_view kWinogradOutput = "winograd-output";
inline constexpr std::string_view kWinogradResult = "winograd-result";

// The convolution by its input's `algorithm`, which CheckAlgorithm (algorithm.h) allows. Axes, where t is m + 2:
//
//   border   images, rows, columns, input features
//   input    images, tile rows, tile columns, t, t, input features
//   weights  t, t, input features, output features
//   product  images, tile rows, tile columns, t, t, output features
//   output   images, tile rows, tile columns, m, m, output features
//   result   the convolution's own
Value WinogradConvolution(const RuleInput& input);

}  // namespace smelt::kernels::te
