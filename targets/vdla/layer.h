// A kernel that VDLA can run: an int8 convolution or matrix product with what is done to its sums.
//
//   absl::StatusOr<Layer> layer = LayerOf(kernel.computation(), config);
//   if (!layer.ok()) std::cout << layer.status().message();        // why it stays on the host
//   std::vector<lower::ConvolutionSchedule> ways = lower::ConvolutionSchedules(layer->convolution, config, 2);
//
// What it recognises is what hlo/quantize writes, in whatever fusion it stands:
//
//   s8, s8 -> convolution or dot of s32 [-> + bias] [-> multiply-shift] [-> + multiply-shift of an s8 residual]
//          -> [clamp, maximum, minimum by numbers] [-> s8]
//
// Biases and multipliers may be constants of the kernel or parameters of it: their values are packed when it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "hlo/literal.h"
#include "vdla/isa/config.h"
#include "vdla/lower/convolution.h"

namespace smelt::vdla {

// Where an array comes from: a parameter of the kernel, or a constant in it.
struct Source {
  int64_t parameter = -1;                  // number of the leaf among the kernel's parameters; -1: `constant`
  const hlo::Literal* constant = nullptr;  // lives as long as the kernel
};

// How an array of activations lies in HLO's row-major memory, in elements. Batch and pixels of a matrix product's rows
// lie along `width`.
struct ActivationView {
  int64_t images = 1, channels = 1, height = 1, width = 1;
  int64_t image_stride = 0, channel_stride = 0, height_stride = 0, width_stride = 0;
};
struct WeightView {
  int64_t outputs = 1, inputs = 1, height = 1, width = 1;
  int64_t output_stride = 0, input_stride = 0, height_stride = 0, width_stride = 0;
  bool reversed_height = false, reversed_width = false;
};

// Numbers of a channel, as accumulators hold them: added as they are, or multiplier << 8 | shift.
struct ChannelValues {
  std::string name;  // of the buffer, EpilogueStep::name
  Source source;
  bool uniform = false;  // the source has one value, for all channels
  int shift = -1;        // of multipliers; -1: not multipliers
};

struct Layer {
  lower::Convolution convolution;
  Source data, weights, residual;
  ActivationView data_view, output_view, residual_view;  // the latter where has_residual
  WeightView weight_view;
  bool has_residual = false;
  std::vector<ChannelValues> channel_values;
};

// Unimplemented says what VDLA has no way to run, by the instruction's name. The kernel outlives the layer.
absl::StatusOr<Layer> LayerOf(const hlo::Computation& kernel, const isa::Config& config);

}  // namespace smelt::vdla
