#include "hlo/quantize/contraction.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "base/str_cat.h"
#include "hlo/quantize/channels.h"

namespace smelt::hlo::quantize {
namespace {

constexpr double kLargestBias = 0x1p30;
// Products of -128 and 127 that a sum of s32 holds beside the largest bias.
constexpr int64_t kMostProducts = (int64_t{1} << 30) / (128 * 127);

void DescribeDot(Layer* layer) {
  const auto& dot = layer->root->attributes<DotAttributes>();
  const bool is_lhs = layer->data_operand == 1;  // the weights are
  const std::vector<int64_t>& batch = is_lhs ? dot.lhs_batch : dot.rhs_batch;
  const std::vector<int64_t>& contracting = is_lhs ? dot.lhs_contracting : dot.rhs_contracting;
  // The result has the batch dimensions, then the free ones of the left operand, then those of the right one.
  for (size_t i = 0; i < batch.size(); ++i) {
    layer->weight_dims.push_back(batch[i]);
    layer->channel_dims.push_back(static_cast<int64_t>(i));
  }
  const int64_t rank = layer->weights->shape().rank();
  std::vector<int64_t> free;
  for (int64_t d = 0; d < rank; ++d) {
    if (!absl::c_linear_search(batch, d) && !absl::c_linear_search(contracting, d)) free.push_back(d);
  }
  int64_t place =
      is_lhs ? static_cast<int64_t>(batch.size()) : layer->root->shape().rank() - static_cast<int64_t>(free.size());
  for (const int64_t d : free) {
    layer->weight_dims.push_back(d);
    layer->channel_dims.push_back(place++);
  }
}

}  // namespace

std::string DescribeContraction(Layer* layer) {
  const Instruction& root = *layer->root;
  if (!IsFloat(layer->data()->shape().element_type) || !IsFloat(layer->weights->shape().element_type))
    return "its operands are integers already";
  if (layer->weights->element_count() == 0 || root.shape().ElementCount() == 0) return "it has no elements";
  if (root.opcode() == Opcode::kConvolution) {
    const auto& convolution = root.attributes<ConvolutionAttributes>();
    if (convolution.batch_group_count != 1) return "its batch is in groups, as in a gradient";
    layer->weight_dims = {convolution.dimensions.kernel_output_feature};
    layer->channel_dims = {convolution.dimensions.output_feature};
  } else {
    DescribeDot(layer);
  }
  const int64_t products =
      layer->weights->element_count() / PlaceCount(layer->weights->shape().dimensions, layer->weight_dims);
  if (products > kMostProducts)
    return StrCat("sums of ", products, " products may leave s32; ", kMostProducts, " never do");
  for (int64_t i = 0; i < layer->weights->element_count(); ++i) {
    if (!std::isfinite(layer->weights->GetDouble(i))) return "a weight is infinite or no number";
  }
  return "";
}

IntegerWeights QuantizeWeights(const Layer& layer, double data_scale) {
  const std::vector<int64_t>& sizes = layer.weights->shape().dimensions;
  const std::vector<int64_t> strides = PlaceStrides(sizes, layer.weight_dims);
  const int64_t count = layer.weights->element_count();
  const size_t channels = layer.scale.size();
  std::vector<double> largest(channels, 0);
  ForEachElement(sizes, strides, count, [&](int64_t i, int64_t c) {
    largest[c] = std::max(largest[c], std::fabs(layer.weights->GetDouble(i) * layer.scale[c]));
  });
  IntegerWeights result;
  std::vector<double> steps(channels);  // of a weight
  for (size_t c = 0; c < channels; ++c) {
    steps[c] = std::max(largest[c] / 127, std::fabs(layer.offset[c]) / data_scale / kLargestBias);
    if (!(steps[c] > 1e-30)) steps[c] = 1;  // all weights are zero, and so is the bias
    result.scales.push_back(steps[c] * data_scale);
    result.bias.push_back(static_cast<int32_t>(std::nearbyint(layer.offset[c] / result.scales[c])));
  }
  result.values = Literal(Shape::Array(PrimitiveType::kS8, sizes));
  std::vector<double> sums(channels, 0);
  ForEachElement(sizes, strides, count, [&](int64_t i, int64_t c) {
    const double step = std::nearbyint(layer.weights->GetDouble(i) * layer.scale[c] / steps[c]);
    const int8_t value = static_cast<int8_t>(std::clamp(step, -127.0, 127.0));
    result.values.data<int8_t>()[i] = value;
    sums[c] += 128.0 * std::abs(value);
  });
  for (size_t c = 0; c < channels; ++c)
    result.bound = std::max(result.bound, sums[c] + std::fabs(static_cast<double>(result.bias[c])));
  return result;
}

}  // namespace smelt::hlo::quantize
