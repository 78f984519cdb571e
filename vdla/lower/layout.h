// Tensors as VDLA's DRAM holds them: blocks of channels beside each other, zeros where the last block is not full. A
// view says where the values of a tensor lie in its own array, in any order and with any transposition.
//
//   const isa::Config config = isa::Config::Named("pynq").value();
//   const ActivationView view = Nchw({1, 60, 56, 56});
//   std::vector<int8_t> values(60 * 56 * 56);
//   std::string bytes = PackActivations(values.data(), view, config.batch, config.block_in);   // 4 blocks
//   UnpackActivations(bytes, view, config, /*int8=*/true, values.data());
//
// Bytes of a segment in, values in the order of the view out, and back. `batch` images are a row each of one element.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "vdla/isa/config.h"

namespace smelt::vdla::lower {

// Where each index lies in an array, in elements from its beginning; a value lies where its indices sum to.
using Places = std::vector<int64_t>;
// `count` indices, each so many elements after the one before.
Places Strided(int64_t count, int64_t stride);

// A dimension that is not there has one index at 0.
struct ActivationView {
  Places images = {0}, channels = {0}, height = {0}, width = {0};
  bool operator==(const ActivationView&) const = default;
};
// `images`: weights of each image, where they differ.
struct WeightView {
  Places images = {0}, outputs = {0}, inputs = {0}, height = {0}, width = {0};
};

// Arrays in the usual order: images, channels, height, width; and out channels, in channels, height, width.
using Dims = std::array<int64_t, 4>;
ActivationView Nchw(const Dims& dims);
WeightView Oihw(const Dims& dims);

// NCHW<n>c: (images/batch, channels/block, height, width) elements of `batch` rows of `block` int8.
std::string PackActivations(const int8_t* values, const ActivationView& view, int64_t batch, int64_t block);
// The same in blocks of block_out channels, as accumulators are stored, back: int8, or int32 as summed. `values` has
// elements of that type.
void UnpackActivations(std::string_view bytes, const ActivationView& view, const isa::Config& config, bool int8,
                       void* values);
// OIHW<o>i: (images, out/block_out, in/block_in, height, width) elements of block_out rows of block_in int8.
std::string PackWeights(const int8_t* values, const WeightView& view, const isa::Config& config);
// The same for sums over one channel each (Convolution::Sum::kProductsByChannel): the value of channel c, which
// `view.outputs` counts, stands in row c and column c of a block, beside zeros. `values` null: ones.
std::string PackDiagonalWeights(const int8_t* values, const WeightView& view, const isa::Config& config);
// A value a channel to elements of accumulators: each value for all images of the batch.
std::string PackChannels(absl::Span<const int32_t> values, const isa::Config& config);

}  // namespace smelt::vdla::lower
