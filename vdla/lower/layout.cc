#include "vdla/lower/layout.h"

#include <algorithm>
#include <cstring>

#include "base/ceil_div.h"

namespace smelt::vdla::lower {
namespace {

int64_t Count(const Places& places) { return static_cast<int64_t>(places.size()); }

// Calls visit(packed, plain, channels, first) for each row of an element: `channels` values, of channels from `first`
// on, that lie at `packed` one behind the other and at `plain` plus the places of their channels.
template <typename Visit>
void ForEachRow(const ActivationView& view, int64_t batch, int64_t block, Visit visit) {
  const int64_t blocks = CeilDiv(Count(view.channels), block), pixels = Count(view.height) * Count(view.width);
  for (int64_t n = 0; n < Count(view.images); ++n) {
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t row = (((n / batch) * blocks + b) * pixels * batch + n % batch) * block;
      const int64_t channels = std::min(block, Count(view.channels) - b * block);
      for (const int64_t y : view.height) {
        for (const int64_t x : view.width) {
          visit(row, view.images[static_cast<size_t>(n)] + y + x, channels, b * block);
          row += batch * block;
        }
      }
    }
  }
}

template <typename T>
void Unpack(const char* bytes, const ActivationView& view, const isa::Config& config, T* values) {
  ForEachRow(view, config.batch, config.block_out, [&](int64_t packed, int64_t plain, int64_t channels, int64_t first) {
    const int64_t* places = &view.channels[static_cast<size_t>(first)];
    for (int64_t c = 0; c < channels; ++c)
      std::memcpy(values + plain + places[c], bytes + (packed + c) * static_cast<int64_t>(sizeof(T)), sizeof(T));
  });
}

}  // namespace

Places Strided(int64_t count, int64_t stride) {
  Places places(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) places[static_cast<size_t>(i)] = i * stride;
  return places;
}

ActivationView Nchw(const Dims& dims) {
  const auto [images, channels, height, width] = dims;
  return {.images = Strided(images, channels * height * width),
          .channels = Strided(channels, height * width),
          .height = Strided(height, width),
          .width = Strided(width, 1)};
}

WeightView Oihw(const Dims& dims) {
  const auto [outputs, inputs, height, width] = dims;
  return {.outputs = Strided(outputs, inputs * height * width),
          .inputs = Strided(inputs, height * width),
          .height = Strided(height, width),
          .width = Strided(width, 1)};
}

std::string PackActivations(const int8_t* values, const ActivationView& view, int64_t batch, int64_t block) {
  const int64_t elements = CeilDiv(Count(view.images), batch) * CeilDiv(Count(view.channels), block) *
                           Count(view.height) * Count(view.width);
  std::string bytes(static_cast<size_t>(elements * batch * block), '\0');
  ForEachRow(view, batch, block, [&](int64_t packed, int64_t plain, int64_t channels, int64_t first) {
    const int64_t* places = &view.channels[static_cast<size_t>(first)];
    char* row = bytes.data() + packed;
    for (int64_t c = 0; c < channels; ++c) row[c] = static_cast<char>(values[plain + places[c]]);
  });
  return bytes;
}

void UnpackActivations(std::string_view bytes, const ActivationView& view, const isa::Config& config, bool int8,
                       void* values) {
  if (int8) {
    Unpack(bytes.data(), view, config, static_cast<int8_t*>(values));
  } else {
    Unpack(bytes.data(), view, config, static_cast<int32_t*>(values));
  }
}

std::string PackWeights(const int8_t* values, const WeightView& view, const isa::Config& config) {
  const int64_t in_blocks = CeilDiv(Count(view.inputs), config.block_in);
  const int64_t out_blocks = CeilDiv(Count(view.outputs), config.block_out);
  const int64_t pixels = Count(view.height) * Count(view.width), block = config.block_out * config.block_in;
  std::string bytes(static_cast<size_t>(Count(view.images) * out_blocks * in_blocks * pixels * block), '\0');
  for (int64_t n = 0; n < Count(view.images); ++n) {
    for (int64_t o = 0; o < Count(view.outputs); ++o) {
      for (int64_t i = 0; i < Count(view.inputs); ++i) {
        const int64_t of_channels = view.images[static_cast<size_t>(n)] + view.outputs[static_cast<size_t>(o)] +
                                    view.inputs[static_cast<size_t>(i)];
        int64_t element = ((n * out_blocks + o / config.block_out) * in_blocks + i / config.block_in) * pixels;
        const int64_t lane = (o % config.block_out) * config.block_in + i % config.block_in;
        for (const int64_t y : view.height) {
          for (const int64_t x : view.width)
            bytes[static_cast<size_t>(element++ * block + lane)] = static_cast<char>(values[of_channels + y + x]);
        }
      }
    }
  }
  return bytes;
}

std::string PackDiagonalWeights(const int8_t* values, const WeightView& view, const isa::Config& config) {
  const int64_t pixels = Count(view.height) * Count(view.width), block = config.block_out * config.block_in;
  const int64_t blocks = CeilDiv(Count(view.outputs), config.block_out);
  std::string bytes(static_cast<size_t>(blocks * pixels * block), '\0');
  for (int64_t c = 0; c < Count(view.outputs); ++c) {
    const int64_t lane = (c % config.block_out) * config.block_in + c % config.block_out;
    int64_t element = (c / config.block_out) * pixels;
    for (const int64_t y : view.height) {
      for (const int64_t x : view.width) {
        bytes[static_cast<size_t>(element++ * block + lane)] =
            values == nullptr ? char{1} : static_cast<char>(values[view.outputs[static_cast<size_t>(c)] + y + x]);
      }
    }
  }
  return bytes;
}

std::string PackChannels(absl::Span<const int32_t> values, const isa::Config& config) {
  const int64_t blocks = CeilDiv(static_cast<int64_t>(values.size()), config.block_out);
  std::string bytes(static_cast<size_t>(blocks * config.batch * config.block_out) * sizeof(int32_t), '\0');
  for (int64_t c = 0; c < static_cast<int64_t>(values.size()); ++c) {
    for (int64_t n = 0; n < config.batch; ++n) {
      const int64_t lane = ((c / config.block_out) * config.batch + n) * config.block_out + c % config.block_out;
      std::memcpy(bytes.data() + lane * 4, &values[static_cast<size_t>(c)], 4);
    }
  }
  return bytes;
}

}  // namespace smelt::vdla::lower
