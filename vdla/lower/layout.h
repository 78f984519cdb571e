// Tensors as VDLA's DRAM holds them: blocks of channels beside each other, zeros where the last block is not full.
//
//   std::string input = PackActivations(values, {1, 60, 56, 56}, config);     // 4 blocks of 16 channels
//   std::vector<int8_t> output = UnpackActivations(bytes, {1, 60, 56, 56}, config);
//
// Bytes of a segment in, values in the usual order out, and back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::lower {

// Dimensions of activations: images, channels, height, width. Of weights: out channels, in channels, height, width.
using Dims = std::array<int64_t, 4>;

// NCHW to NCHW<n>c with n images of the machine's batch and c = block_in channels in an element of the inputs.
std::string PackActivations(absl::Span<const int8_t> values, const Dims& dims, const isa::Config& config);
// The same in blocks of block_out channels, as accumulators are stored, back to NCHW.
std::vector<int8_t> UnpackActivations(std::string_view bytes, const Dims& dims, const isa::Config& config);
std::vector<int32_t> UnpackSums(std::string_view bytes, const Dims& dims, const isa::Config& config);
// OIHW to OIHW<o>i in blocks of block_out by block_in.
std::string PackWeights(absl::Span<const int8_t> values, const Dims& dims, const isa::Config& config);
// A value a channel to elements of accumulators: each value for all images of the batch.
std::string PackChannels(absl::Span<const int32_t> values, const isa::Config& config);

}  // namespace smelt::vdla::lower
