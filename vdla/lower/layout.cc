#include "vdla/lower/layout.h"

#include <cstring>

namespace smelt::vdla::lower {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Calls visit(index in NCHW, index in NCHW<n>c) for each value.
template <typename Visit>
void ForEachActivation(const Dims& dims, int64_t batch, int64_t block, Visit visit) {
  const auto [images, channels, height, width] = dims;
  const int64_t blocks = CeilDiv(channels, block);
  int64_t plain = 0;
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t pixel = 0; pixel < height * width; ++pixel) {
        const int64_t element = ((n / batch) * blocks + c / block) * height * width + pixel;
        visit(plain++, (element * batch + n % batch) * block + c % block);
      }
    }
  }
}

template <typename T>
std::vector<T> Unpack(std::string_view bytes, const Dims& dims, const isa::Config& config) {
  std::vector<T> values(static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
  ForEachActivation(dims, config.batch, config.block_out, [&](int64_t plain, int64_t packed) {
    const size_t at = static_cast<size_t>(packed) * sizeof(T);
    if (at + sizeof(T) <= bytes.size()) std::memcpy(&values[static_cast<size_t>(plain)], bytes.data() + at, sizeof(T));
  });
  return values;
}

}  // namespace

std::string PackActivations(absl::Span<const int8_t> values, const Dims& dims, const isa::Config& config) {
  const int64_t size = CeilDiv(dims[0], config.batch) * CeilDiv(dims[1], config.block_in) * dims[2] * dims[3] *
                       config.batch * config.block_in;
  std::string bytes(static_cast<size_t>(size), '\0');
  ForEachActivation(dims, config.batch, config.block_in, [&](int64_t plain, int64_t packed) {
    bytes[static_cast<size_t>(packed)] = static_cast<char>(values[static_cast<size_t>(plain)]);
  });
  return bytes;
}

std::vector<int8_t> UnpackActivations(std::string_view bytes, const Dims& dims, const isa::Config& config) {
  return Unpack<int8_t>(bytes, dims, config);
}
std::vector<int32_t> UnpackSums(std::string_view bytes, const Dims& dims, const isa::Config& config) {
  return Unpack<int32_t>(bytes, dims, config);
}

std::string PackWeights(absl::Span<const int8_t> values, const Dims& dims, const isa::Config& config) {
  const auto [outs, ins, height, width] = dims;
  const int64_t in_blocks = CeilDiv(ins, config.block_in);
  std::string bytes(static_cast<size_t>(CeilDiv(outs, config.block_out) * in_blocks * height * width *
                                        config.block_out * config.block_in),
                    '\0');
  size_t plain = 0;
  for (int64_t o = 0; o < outs; ++o) {
    for (int64_t i = 0; i < ins; ++i) {
      for (int64_t pixel = 0; pixel < height * width; ++pixel) {
        const int64_t element = ((o / config.block_out) * in_blocks + i / config.block_in) * height * width + pixel;
        bytes[static_cast<size_t>((element * config.block_out + o % config.block_out) * config.block_in +
                                  i % config.block_in)] = static_cast<char>(values[plain++]);
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
