// Runs a convolution that was lowered, on the simulator, and the same in plain C++.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/simulate.h"
#include "vdla/isa/config.h"
#include "vdla/lower/convolution.h"
#include "vdla/lower/emit.h"

namespace smelt::vdla::lower {

// A layer with its values in the usual order: NCHW, OIHW.
struct Layer {
  Convolution convolution;
  int64_t images = 1, in_channels = 0, out_channels = 0;  // that are not padding of blocks
  std::vector<int8_t> input, weights;
  std::vector<std::vector<int32_t>> channel_values;  // by step of the epilogue; empty where it has none
  std::vector<std::vector<int8_t>> tensors;          // likewise
};

// Fills a layer with random values; MulShift operands are legal multipliers and shifts.
Layer RandomLayer(Convolution convolution, int64_t images, int64_t in_channels, int64_t out_channels,
                  const isa::Config& config, std::mt19937& random);

// The output in NCHW by its definition, one product after the other.
std::vector<int32_t> Reference(const Layer& layer);

struct LayerRun {
  std::vector<int32_t> output;  // NCHW
  sim::Report report;
  Emitted emitted;
};
// Lowers, checks the program, runs it. Errors: those of lowering, of the simulator, races.
absl::StatusOr<LayerRun> RunLayer(const Layer& layer, const ConvolutionSchedule& schedule, const isa::Config& config,
                                  sim::Timing timing);

}  // namespace smelt::vdla::lower
