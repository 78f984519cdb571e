#include "hlo/passes/convolution_canonicalizer.h"

#include <algorithm>
#include <vector>

#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/graph_builder.h"
#include "hlo/rewrite/rewrite_each.h"

namespace smelt::hlo {
namespace {

bool IsFree(const Instruction& x) { return !x.shape().IsDynamic() && !x.HasControlEdges(); }

// Takes over the zero padding of the input, where the padded dimensions are all spatial.
bool AbsorbPadding(Instruction& convolution) {
  Instruction& pad = *convolution.operand(0);
  // -0.0 counts: a product with it adds nothing to a sum.
  if (pad.opcode() != Opcode::kPad || !IsFree(pad) || !IsAll(*pad.operand(1), 0)) return false;
  const std::vector<PadDimension>& padding = pad.attributes<PadAttributes>().dimensions;
  ConvolutionAttributes attributes = convolution.attributes<ConvolutionAttributes>();
  std::vector<bool> absorbed(padding.size());
  for (size_t i = 0; i < attributes.dimensions.input_spatial.size(); ++i) {
    const int64_t d = attributes.dimensions.input_spatial[i];
    WindowDimension& window = attributes.window.dimensions[i];
    if (padding[d].low < 0 || padding[d].high < 0) return false;
    // Dilation already there spreads the padding too: low zeros become low * dilation.
    if (padding[d].interior > 0 && window.base_dilation != 1) return false;
    window.padding_low += padding[d].low * window.base_dilation;
    window.padding_high += padding[d].high * window.base_dilation;
    window.base_dilation *= padding[d].interior + 1;
    absorbed[d] = true;
  }
  for (size_t d = 0; d < padding.size(); ++d) {
    if (!absorbed[d] && padding[d] != PadDimension{}) return false;
  }
  convolution.mutable_attributes<ConvolutionAttributes>() = std::move(attributes);
  convolution.ReplaceOperand(0, pad.operand(0));
  RemoveIfDead(&pad);
  return true;
}

// Takes over the reversal of the kernel's spatial dimensions.
bool AbsorbReversal(Instruction& convolution) {
  Instruction& reverse = *convolution.operand(1);
  if (reverse.opcode() != Opcode::kReverse || !IsFree(reverse)) return false;
  ConvolutionAttributes attributes = convolution.attributes<ConvolutionAttributes>();
  for (int64_t d : reverse.attributes<DimensionsAttributes>().dimensions) {
    const std::vector<int64_t>& spatial = attributes.dimensions.kernel_spatial;
    const auto it = std::find(spatial.begin(), spatial.end(), d);
    if (it == spatial.end()) return false;
    WindowDimension& window = attributes.window.dimensions[it - spatial.begin()];
    window.reversal = !window.reversal;
  }
  convolution.mutable_attributes<ConvolutionAttributes>() = std::move(attributes);
  convolution.ReplaceOperand(1, reverse.operand(0));
  RemoveIfDead(&reverse);
  return true;
}

}  // namespace

absl::StatusOr<bool> CanonicalizeConvolutions(Module& module) {
  return RewriteEach(module, Opcode::kConvolution, [](Instruction& convolution) {
    if (!IsFree(convolution)) return false;
    const bool is_padded = AbsorbPadding(convolution);
    return AbsorbReversal(convolution) || is_padded;
  });
}

}  // namespace smelt::hlo
