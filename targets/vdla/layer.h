// A kernel that VDLA can run: int8 values that are summed in s32, with what is done to the sums.
//
//   absl::StatusOr<Layer> layer = LayerOf(kernel.computation(), config);
//   if (!layer.ok()) std::cout << layer.status().message();        // why it stays on the host
//   std::vector<lower::ConvolutionSchedule> ways = lower::ConvolutionSchedules(layer->convolution, config, 2);
//
// What it recognises is what hlo/quantize writes, in whatever fusion it stands:
//
//   s8 [, s8] -> sums (sums.h) [-> + bias] [-> multiply-shift] [-> + multiply-shift of an s8 residual]
//             -> [clamp, maximum, minimum by numbers] [-> s8]
//
// Reshapes and transpositions may stand anywhere between the operands and the result: packing does them
// (rearrangement.h). Biases and multipliers may be constants of the kernel or parameters of it: their values are packed
// when it runs. This is the one rule of what the accelerator takes; fusions, times and partitions follow it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "hlo/literal.h"
#include "vdla/isa/config.h"
#include "vdla/lower/convolution.h"
#include "vdla/lower/layout.h"

namespace smelt::vdla {

// Where an array comes from: a parameter of the kernel, a constant in it, or nowhere.
struct Source {
  int64_t parameter = -1;                  // number of the leaf among the kernel's parameters; -1: `constant`
  const hlo::Literal* constant = nullptr;  // lives as long as the kernel
  bool exists() const { return parameter >= 0 || constant != nullptr; }
};

// Numbers of a channel, as accumulators hold them: added as they are, or multiplier << 8 | shift.
struct ChannelValues {
  std::string name;  // of the buffer, EpilogueStep::name
  Source source;
  lower::Places places;  // of each channel's value in the source
  int shift = -1;        // of multipliers; -1: not multipliers
};

// Columns of the window that stand beside the channels of the input, where these alone would fill a small part of a
// block: the first layer of a network, with three. The input is copied with its padding into an array of images, rows,
// padded columns and channels, which Layer::data_view then tells of.
struct FoldedColumns {
  lower::ActivationView source;  // of the input as it is
  int64_t padded_width = 0;      // 0: nothing is folded
  int64_t left = 0;              // columns of padding before the first
};

struct Layer {
  lower::Convolution convolution;
  FoldedColumns folded;
  Source data, weights, residual;  // weights of sums by channel that have none are ones; no residual: none is added
  lower::ActivationView data_view, output_view, residual_view;
  lower::WeightView weight_view;
  std::vector<ChannelValues> channel_values;
};

// Unimplemented says what VDLA has no way to run, by the instruction's name. The kernel outlives the layer.
absl::StatusOr<Layer> LayerOf(const hlo::Computation& kernel, const isa::Config& config);

// Whether both lie alike in the accelerator's DRAM, so that what one layer leaves there another one reads.
bool PackAlike(const lower::ActivationView& written, const lower::ActivationView& read);

}  // namespace smelt::vdla
