// The weights of a layer as int8: what may be one, and its numbers.
//
//   std::string why = DescribeContraction(&layer);          // empty: it may be int8
//   IntegerWeights weights = QuantizeWeights(layer, 0.02);  // its data has 0.02 a step
//
// Symmetric, one scale for each output channel: the largest weight of a channel, times the arithmetic by known values
// that follows the layer, becomes 127 (or less, so that the bias fits in 30 bits). Sums then never leave s32.
#pragma once

#include <string>
#include <vector>

#include "hlo/quantize/plan.h"

namespace smelt::hlo::quantize {

// Fills in the layer's dimensions from its root and weights. A reason instead where it cannot be int8.
std::string DescribeContraction(Layer* layer);

struct IntegerWeights {
  Literal values;              // s8, with the dimensions of layer.weights
  std::vector<double> scales;  // a channel: one step of the sum, with the data's scale, stands for this much
  std::vector<int32_t> bias;   // a channel, in such steps
  double bound = 0;            // no |sum + bias| is larger
};

// `data_scale`: what one step of the data stands for.
IntegerWeights QuantizeWeights(const Layer& layer, double data_scale);

}  // namespace smelt::hlo::quantize
