#include "hlo/passes/convolution_to_dot.h"

#include <algorithm>
#include <vector>

#include "hlo/rewrite/graph_builder.h"
#include "hlo/rewrite/rewrite_each.h"

namespace smelt::hlo {
namespace {

// Batch, spatial dimensions, features: 0, 1, 2, ...
bool IsInOrder(int64_t batch, const std::vector<int64_t>& spatial, int64_t feature) {
  int64_t next = 0;
  if (batch != next++) return false;
  for (int64_t d : spatial) {
    if (d != next++) return false;
  }
  return feature == next;
}

bool IsPlain(const Instruction& x) { return !x.shape().IsDynamic() && x.shape().HasDefaultLayout(); }

bool TakesElements(const WindowDimension& window) {
  return window.size == 1 && window.padding_low == 0 && window.padding_high == 0 && window.base_dilation == 1;
}

bool Rewrite(Instruction& convolution) {
  const auto& attributes = convolution.attributes<ConvolutionAttributes>();
  const ConvolutionDimensions& d = attributes.dimensions;
  Instruction *input = convolution.operand(0), *kernel = convolution.operand(1);
  if (convolution.HasControlEdges() || !IsPlain(convolution) || !IsPlain(*input) || !IsPlain(*kernel)) return false;
  if (attributes.feature_group_count != 1 || attributes.batch_group_count != 1) return false;
  if (!IsInOrder(d.input_batch, d.input_spatial, d.input_feature)) return false;
  if (!IsInOrder(d.output_batch, d.output_spatial, d.output_feature)) return false;
  const std::vector<WindowDimension>& window = attributes.window.dimensions;
  if (!std::all_of(window.begin(), window.end(), TakesElements)) return false;

  GraphBuilder build(convolution);
  const std::vector<int64_t>& result = convolution.shape().dimensions;
  const std::vector<int64_t>& given = input->shape().dimensions;
  std::vector<SliceDimension> taken;
  for (size_t i = 0; i < given.size(); ++i) {
    const bool is_spatial = i > 0 && i + 1 < given.size();
    taken.push_back({.start = 0, .limit = given[i], .stride = is_spatial ? window[i - 1].stride : 1});
  }
  const bool is_whole =
      std::all_of(taken.begin(), taken.end(), [](const SliceDimension& dimension) { return dimension.stride == 1; });
  const int64_t features = given.back(), results = result.back();
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < result.size(); ++i) rows *= result[i];

  Instruction* left = build.Reshape(is_whole ? input : build.Slice(input, taken), {rows, features});
  const bool is_transposed = d.kernel_output_feature < d.kernel_input_feature;
  Instruction* right = build.Reshape(
      kernel, is_transposed ? std::vector<int64_t>{results, features} : std::vector<int64_t>{features, results});
  Instruction* product =
      build.Add(Opcode::kDot, Shape::Array(convolution.shape().element_type, {rows, results}), {left, right},
                DotAttributes{.lhs_contracting = {1}, .rhs_contracting = {is_transposed ? 1 : 0}});
  for (const RawAttribute& attribute : convolution.raw_attributes()) {
    if (attribute.name == "operand_precision") product->raw_attributes().push_back(attribute);
  }
  return ReplaceKeepingName(convolution, product, build.Reshape(product, result));
}

}  // namespace

absl::StatusOr<bool> ConvolutionsToDots(Module& module) { return RewriteEach(module, Opcode::kConvolution, Rewrite); }

}  // namespace smelt::hlo
