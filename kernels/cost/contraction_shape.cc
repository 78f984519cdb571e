#include "kernels/cost/contraction_shape.h"

#include <algorithm>

#include "base/ceil_div.h"

namespace smelt::kernels::cost {
namespace {

ContractionShape OfDot(const hlo::Instruction& instruction) {
  const hlo::DotAttributes& dot = instruction.attributes<hlo::DotAttributes>();
  const hlo::Shape& lhs = instruction.operand(0)->shape();
  const hlo::Shape& rhs = instruction.operand(1)->shape();
  ContractionShape shape;
  for (int64_t d : dot.lhs_batch) shape.batch *= static_cast<double>(lhs.dimensions[d]);
  for (int64_t d : dot.lhs_contracting) shape.k *= static_cast<double>(lhs.dimensions[d]);
  shape.m = static_cast<double>(lhs.ElementCount()) / (shape.batch * shape.k);
  shape.n = static_cast<double>(rhs.ElementCount()) / (shape.batch * shape.k);
  return shape;
}

ContractionShape OfConvolution(const hlo::Instruction& instruction) {
  const hlo::ConvolutionAttributes& convolution = instruction.attributes<hlo::ConvolutionAttributes>();
  const hlo::Shape& kernel = instruction.operand(1)->shape();
  const hlo::Shape& output = instruction.shape();
  ContractionShape shape;
  const double features = static_cast<double>(output.dimensions[convolution.dimensions.output_feature]);
  const double groups = static_cast<double>(std::max(convolution.feature_group_count, convolution.batch_group_count));
  shape.batch = groups;
  shape.n = features / groups;
  shape.m = static_cast<double>(output.ElementCount()) / features;
  shape.k = static_cast<double>(kernel.dimensions[convolution.dimensions.kernel_input_feature]);
  for (const hlo::WindowDimension& window : convolution.window.dimensions) {
    const int64_t skipped = window.stride == 1 && window.window_dilation == 1 ? window.base_dilation : 1;
    shape.k *= static_cast<double>(CeilDiv(window.size, skipped));
  }
  return shape;
}

}  // namespace

ContractionShape ShapeOfContraction(const hlo::Instruction& instruction) {
  // The others (ragged-dot, scaled-dot) have the attributes of a dot.
  ContractionShape shape =
      instruction.opcode() == hlo::Opcode::kConvolution ? OfConvolution(instruction) : OfDot(instruction);
  // Arrays without elements come out as 0 / 0.
  for (double* x : {&shape.batch, &shape.m, &shape.n, &shape.k}) *x = *x >= 1 ? *x : 1;
  return shape;
}

}  // namespace smelt::kernels::cost
