#include "vdla/lower/layer.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/ceil_div.h"
#include "vdla/isa/alu.h"
#include "vdla/lower/layout.h"

namespace smelt::vdla::lower {
namespace {

int64_t ElementsOf(const Dims& dims) { return dims[0] * dims[1] * dims[2] * dims[3]; }
// Channels that one channel of the output is summed over.
int64_t SummedChannels(const Layer& l) { return l.convolution.by_channel() ? 1 : l.in_channels; }
Dims InputDims(const Layer& l) { return {l.images, l.in_channels, l.convolution.height, l.convolution.width}; }
Dims OutputDims(const Layer& l) {
  return {l.images, l.out_channels, l.convolution.out_height(), l.convolution.out_width()};
}
Dims WeightDims(const Layer& l) {
  return {l.out_channels, SummedChannels(l), l.convolution.kernel_height, l.convolution.kernel_width};
}
// One behind the other where each image has its own.
int64_t WeightCount(const Layer& l) {
  if (!l.convolution.has_weights()) return 0;
  return ElementsOf(WeightDims(l)) * (l.convolution.weights_by_image ? l.images : 1);
}
std::string PackedWeights(const Layer& l, const isa::Config& config) {
  WeightView view = Oihw(WeightDims(l));
  if (l.convolution.by_channel()) return PackDiagonalWeights(l.weights.data(), view, config);
  if (l.convolution.weights_by_image) view.images = Strided(l.images, ElementsOf(WeightDims(l)));
  return PackWeights(l.weights.data(), view, config);
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
  layer.convolution.images = CeilDiv(images, config.batch);
  layer.convolution.in_blocks = CeilDiv(in_channels, config.block_in);
  layer.convolution.out_blocks = CeilDiv(out_channels, config.block_out);
  layer.input = RandomBytes(ElementsOf(InputDims(layer)), random);
  layer.weights = RandomBytes(WeightCount(layer), random);
  for (const EpilogueStep& step : layer.convolution.epilogue) {
    std::vector<int32_t> values;
    if (step.operand == EpilogueOperand::kPerChannel) {
      for (int64_t c = 0; c < out_channels; ++c) {
        const auto any = static_cast<int32_t>(random());
        // A multiplier of 15 bits and a shift of 20 to 27: sums of some 2^18 end beside int8's range.
        values.push_back(step.op == isa::AluOp::kMulShift
                             ? ((1 << 14) + (any & 16383)) * 256 + 20 + static_cast<int32_t>(random() % 8)
                             : any >> 14);
      }
    }
    layer.channel_values.push_back(std::move(values));
    layer.tensors.push_back(step.operand == EpilogueOperand::kTensor
                                ? RandomBytes(ElementsOf(OutputDims(layer)), random)
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
          int32_t sum = c.has_weights() ? 0 : std::numeric_limits<int8_t>::min();
          for (int64_t i = 0; i < SummedChannels(layer); ++i) {
            const int64_t channel = c.by_channel() ? o : i, image = c.weights_by_image ? n * layer.out_channels : 0;
            for (int64_t ky = 0; ky < c.kernel_height; ++ky) {
              for (int64_t kx = 0; kx < c.kernel_width; ++kx) {
                const int64_t iy = y * c.stride_height + ky - c.padding.top;
                const int64_t ix = x * c.stride_width + kx - c.padding.left;
                if (iy < 0 || ix < 0 || iy >= c.height || ix >= c.width) continue;
                const int32_t value = layer.input[((n * layer.in_channels + channel) * c.height + iy) * c.width + ix];
                const int64_t weight =
                    (((image + o) * SummedChannels(layer) + i) * c.kernel_height + ky) * c.kernel_width + kx;
                sum = c.has_weights() ? sum + value * layer.weights[weight] : std::max(sum, value);
              }
            }
          }
          for (size_t s = 0; s < c.epilogue.size(); ++s) {
            const EpilogueStep& step = c.epilogue[s];
            int32_t operand = step.imm;
            if (step.operand == EpilogueOperand::kPerChannel) operand = layer.channel_values[s][o];
            if (step.operand == EpilogueOperand::kTensor) operand = layer.tensors[s][output.size()];
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
  fill("input", PackActivations(layer.input.data(), Nchw(InputDims(layer)), config.batch, config.block_in));
  if (layer.convolution.has_weights()) fill("weights", PackedWeights(layer, config));
  for (size_t s = 0; s < layer.convolution.epilogue.size(); ++s) {
    const EpilogueStep& step = layer.convolution.epilogue[s];
    if (step.operand == EpilogueOperand::kPerChannel) fill(step.name, PackChannels(layer.channel_values[s], config));
    if (step.operand == EpilogueOperand::kTensor)
      fill(step.name,
           PackActivations(layer.tensors[s].data(), Nchw(OutputDims(layer)), config.batch, config.block_out));
  }
}

std::vector<int32_t> OutputOf(const Layer& layer, const isa::Config& config, std::string_view bytes) {
  std::vector<int32_t> sums(static_cast<size_t>(ElementsOf(OutputDims(layer))));
  if (!layer.convolution.int8_output) {
    UnpackActivations(bytes, Nchw(OutputDims(layer)), config, /*int8=*/false, sums.data());
    return sums;
  }
  std::vector<int8_t> values(sums.size());
  UnpackActivations(bytes, Nchw(OutputDims(layer)), config, /*int8=*/true, values.data());
  return {values.begin(), values.end()};
}

}  // namespace smelt::vdla::lower
