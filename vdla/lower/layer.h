// A convolution with its values: what a program of it must leave in DRAM, computed by the definition.
//
//   std::mt19937 random(1);
//   Layer layer = RandomLayer(c2, /*images=*/1, /*in_channels=*/64, /*out_channels=*/64, config, random);
//   FillSegments(layer, config, &program);              // program: of c2, as Emit made it
//   std::vector<int32_t> expected = Reference(layer);   // in NCHW
//
// For tests and benchmarks; one product after the other.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "vdla/isa/config.h"
#include "vdla/isa/program.h"
#include "vdla/lower/convolution.h"

namespace smelt::vdla::lower {

// Values in the usual order: NCHW, OIHW.
struct Layer {
  Convolution convolution;
  int64_t images = 1, in_channels = 0, out_channels = 0;  // without what fills the last block
  std::vector<int8_t> input, weights;
  std::vector<std::vector<int32_t>> channel_values;  // by step of the epilogue; empty where it has none
  std::vector<std::vector<int8_t>> tensors;          // likewise
};

// A layer with random values; the numbers of blocks follow from those of channels. Operands of MULSHIFT are multipliers
// and shifts that bring sums near int8's range.
Layer RandomLayer(Convolution convolution, int64_t images, int64_t in_channels, int64_t out_channels,
                  const isa::Config& config, std::mt19937& random);

// The output in NCHW.
std::vector<int32_t> Reference(const Layer& layer);

// Puts the values into the program's segments, as the machine reads them.
void FillSegments(const Layer& layer, const isa::Config& config, isa::Program* program);

// The output in NCHW from the bytes of segment `output` after a run.
std::vector<int32_t> OutputOf(const Layer& layer, const isa::Config& config, std::string_view bytes);

}  // namespace smelt::vdla::lower
