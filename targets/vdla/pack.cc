#include "targets/vdla/pack.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace smelt::vdla {
namespace {

int64_t Blocks(int64_t channels, int64_t block) { return (channels + block - 1) / block; }

// Calls visit(place in the packed array, offset in the view) for each run of channels in one block and pixel.
template <typename Visit>
void ForEachBlock(const ActivationView& view, int64_t block, const Visit& visit) {
  const int64_t blocks = Blocks(view.channels, block);
  int64_t place = 0;
  for (int64_t n = 0; n < view.images; ++n) {
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t channels = std::min(block, view.channels - b * block);
      for (int64_t y = 0; y < view.height; ++y) {
        for (int64_t x = 0; x < view.width; ++x) {
          visit(
              place++,
              n * view.image_stride + b * block * view.channel_stride + y * view.height_stride + x * view.width_stride,
              channels);
        }
      }
    }
  }
}

template <typename T>
void Unpack(const T* packed, const ActivationView& view, int64_t block, T* out) {
  ForEachBlock(view, block, [&](int64_t place, int64_t offset, int64_t channels) {
    for (int64_t c = 0; c < channels; ++c) out[offset + c * view.channel_stride] = packed[place * block + c];
  });
}

}  // namespace

void PackActivations(const int8_t* data, const ActivationView& view, int64_t block, int8_t* packed) {
  ForEachBlock(view, block, [&](int64_t place, int64_t offset, int64_t channels) {
    int8_t* element = packed + place * block;
    for (int64_t c = 0; c < channels; ++c) element[c] = data[offset + c * view.channel_stride];
    std::fill(element + channels, element + block, 0);
  });
}

void PackWeights(const int8_t* data, const WeightView& view, int64_t block_in, int64_t block_out, int8_t* packed) {
  const int64_t out_blocks = Blocks(view.outputs, block_out), in_blocks = Blocks(view.inputs, block_in);
  std::memset(packed, 0, static_cast<size_t>(out_blocks * in_blocks * view.height * view.width * block_in * block_out));
  for (int64_t o = 0; o < view.outputs; ++o) {
    for (int64_t i = 0; i < view.inputs; ++i) {
      for (int64_t y = 0; y < view.height; ++y) {
        for (int64_t x = 0; x < view.width; ++x) {
          const int64_t from_y = view.reversed_height ? view.height - 1 - y : y;
          const int64_t from_x = view.reversed_width ? view.width - 1 - x : x;
          const int64_t element = (((o / block_out) * in_blocks + i / block_in) * view.height + y) * view.width + x;
          packed[(element * block_out + o % block_out) * block_in + i % block_in] =
              data[o * view.output_stride + i * view.input_stride + from_y * view.height_stride +
                   from_x * view.width_stride];
        }
      }
    }
  }
}

absl::Status PackChannels(const ChannelValues& values, const void* data, bool wide, int64_t channels, int64_t block,
                          int32_t* packed) {
  const int64_t padded = Blocks(channels, block) * block;
  for (int64_t c = 0; c < padded; ++c) {
    if (c >= channels) {
      packed[c] = 0;
      continue;
    }
    const int64_t at = values.uniform ? 0 : c;
    const int64_t value = wide ? static_cast<const int64_t*>(data)[at] : static_cast<const int32_t*>(data)[at];
    if (values.shift < 0) {
      packed[c] = static_cast<int32_t>(value);
      continue;
    }
    if (value < -(int64_t{1} << 23) || value >= int64_t{1} << 23) {
      return absl::OutOfRangeError(absl::StrCat("multiplier ", value, " of channel ", c, " has more than 24 bits"));
    }
    packed[c] = static_cast<int32_t>((static_cast<uint32_t>(value) << 8) | static_cast<uint32_t>(values.shift));
  }
  return absl::OkStatus();
}

void UnpackSums(const void* packed, const ActivationView& view, int64_t block, bool narrow, void* out) {
  if (narrow) {
    Unpack(static_cast<const int8_t*>(packed), view, block, static_cast<int8_t*>(out));
  } else {
    Unpack(static_cast<const int32_t*>(packed), view, block, static_cast<int32_t*>(out));
  }
}

}  // namespace smelt::vdla
