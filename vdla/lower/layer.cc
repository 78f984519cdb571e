#include "vdla/lower/layer.h"

#include <string>
#include <utility>

#include "vdla/isa/alu.h"
#include "vdla/lower/layout.h"

namespace smelt::vdla::lower {
namespace {

using Operand = EpilogueStep::Operand;

int64_t CountOf(const Dims& dims) { return dims[0] * dims[1] * dims[2] * dims[3]; }
Dims InputDims(const Layer& l) { return {l.images, l.in_channels, l.convolution.height, l.convolution.width}; }
Dims OutputDims(const Layer& l) {
  return {l.images, l.out_channels, l.convolution.out_height(), l.convolution.out_width()};
}
Dims WeightDims(const Layer& l) {
  return {l.out_channels, l.in_channels, l.convolution.kernel_height, l.convolution.kernel_width};
}

std::vector<int8_t> RandomBytes(int64_t count, std::mt19937& random) {
  std::vector<int8_t> values(static_cast<size_t>(count));
  for (int8_t& value : values) value = static_cast<int8_t>(random() & 255);
  return values;
}

}  // namespace

Layer RandomLayer(Convolution convolution, int64_t images, int64_t in_channels, int64_t out_channels,
                  const isa::Config& config, std::mt19937& random) {
  Layer layer{.convolution = std::move(convolution)};
  layer.images = images;
  layer.in_channels = in_channels;
  layer.out_channels = out_channels;
  layer.convolution.images = (images + config.batch - 1) / config.batch;
  layer.convolution.in_blocks = (in_channels + config.block_in - 1) / config.block_in;
  layer.convolution.out_blocks = (out_channels + config.block_out - 1) / config.block_out;
  layer.input = RandomBytes(CountOf(InputDims(layer)), random);
  layer.weights = RandomBytes(CountOf(WeightDims(layer)), random);
  for (const EpilogueStep& step : layer.convolution.epilogue) {
    std::vector<int32_t> values;
    if (step.operand == Operand::kPerChannel) {
      for (int64_t c = 0; c < out_channels; ++c) {
        const auto any = static_cast<int32_t>(random());
        // A multiplier of 15 bits and a shift of 20 to 27: sums of some 2^18 end beside int8's range.
        values.push_back(step.op == isa::AluOp::kMulShift
                             ? ((1 << 14) + (any & 16383)) * 256 + 20 + static_cast<int32_t>(random() % 8)
                             : any >> 14);
      }
    }
    layer.channel_values.push_back(std::move(values));
    layer.tensors.push_back(step.operand == Operand::kTensor ? RandomBytes(CountOf(OutputDims(layer)), random)
                                                             : std::vector<int8_t>());
  }
  return layer;
}

std::vector<int32_t> Reference(const Layer& layer) {
  const Convolution& c = layer.convolution;
  std::vector<int32_t> output;
  for (int64_t n = 0; n < layer.images; ++n) {
    for (int64_t o = 0; o < layer.out_channels; ++o) {
      for (int64_t y = 0; y < c.out_height(); ++y) {
        for (int64_t x = 0; x < c.out_width(); ++x) {
          int32_t sum = 0;
          for (int64_t i = 0; i < layer.in_channels; ++i) {
            for (int64_t ky = 0; ky < c.kernel_height; ++ky) {
              for (int64_t kx = 0; kx < c.kernel_width; ++kx) {
                const int64_t iy = y * c.stride_height + ky - c.padding.top;
                const int64_t ix = x * c.stride_width + kx - c.padding.left;
                if (iy < 0 || ix < 0 || iy >= c.height || ix >= c.width) continue;
                sum += layer.input[((n * layer.in_channels + i) * c.height + iy) * c.width + ix] *
                       layer.weights[((o * layer.in_channels + i) * c.kernel_height + ky) * c.kernel_width + kx];
              }
            }
          }
          for (size_t s = 0; s < c.epilogue.size(); ++s) {
            const EpilogueStep& step = c.epilogue[s];
            int32_t operand = step.imm;
            if (step.operand == Operand::kPerChannel) operand = layer.channel_values[s][o];
            if (step.operand == Operand::kTensor) operand = layer.tensors[s][output.size()];
            sum = isa::ApplyAlu(step.op, sum, operand);
          }
          output.push_back(c.int8_output ? isa::SaturateToInt8(sum) : sum);
        }
      }
    }
  }
  return output;
}

void FillSegments(const Layer& layer, const isa::Config& config, isa::Program* program) {
  const auto fill = [&](std::string_view name, std::string bytes) {
    for (isa::Segment& segment : program->segments) {
      if (segment.name == name) segment.bytes = std::move(bytes);
    }
  };
  fill("input", PackActivations(layer.input, InputDims(layer), config));
  fill("weights", PackWeights(layer.weights, WeightDims(layer), config));
  for (size_t s = 0; s < layer.convolution.epilogue.size(); ++s) {
    const EpilogueStep& step = layer.convolution.epilogue[s];
    if (step.operand == Operand::kPerChannel) fill(step.name, PackChannels(layer.channel_values[s], config));
    if (step.operand == Operand::kTensor) fill(step.name, PackActivations(layer.tensors[s], OutputDims(layer), config));
  }
}

std::vector<int32_t> OutputOf(const Layer& layer, const isa::Config& config, std::string_view bytes) {
  if (!layer.convolution.int8_output) return UnpackSums(bytes, OutputDims(layer), config);
  const std::vector<int8_t> values = UnpackActivations(bytes, OutputDims(layer), config);
  return {values.begin(), values.end()};
}

}  // namespace smelt::vdla::lower
