// Between HLO's arrays and what lies in the accelerator's DRAM: channels in blocks of the unit's size, padded by zeros.
//
//   PackActivations(data, view, /*block=*/16, packed);    // (images, C/block, H, W) of block int8
//   UnpackSums(packed, view, 16, /*narrow=*/true, out);   // back, int8 or int32
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "targets/vdla/layer.h"

namespace smelt::vdla {

// `packed` has images * blocks * height * width elements of `block` bytes.
void PackActivations(const int8_t* data, const ActivationView& view, int64_t block, int8_t* packed);
// (outputs/block_out, inputs/block_in, height, width) elements of block_out rows of block_in bytes.
void PackWeights(const int8_t* data, const WeightView& view, int64_t block_in, int64_t block_out, int8_t* packed);
// outputs/block elements of `block` int32. `values` are s32, or s64 multipliers; they are `count` (1: for all
// channels). OutOfRange: a multiplier of more than 24 bits.
absl::Status PackChannels(const ChannelValues& values, const void* data, bool wide, int64_t channels, int64_t block,
                          int32_t* packed);
// The result: from blocks of int8 (narrow) or int32.
void UnpackSums(const void* packed, const ActivationView& view, int64_t block, bool narrow, void* out);

}  // namespace smelt::vdla
