#include <algorithm>
#include <cstring>

#include "base/status_macros.h"
#include "hlo/evaluator/contraction_types.h"
#include "hlo/evaluator/gemm.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {
namespace {

constexpr double kMostlyPadding =
    0.1;  // share of window elements inside the input below which a matrix of them is a waste
constexpr int64_t kMaxTable = int64_t{1} << 27;  // entries of output size times window size in one dimension

// Every convolution is brought to input [batch, spatial..., channel], kernel [window..., channel of a group, feature]
// and output [batch, spatial..., feature]; an output position is then a row of window elements times the kernel as a
// matrix.
struct Geometry {
  std::vector<int64_t> input_sizes;   // spatial
  std::vector<int64_t> output_sizes;  // spatial
  std::vector<WindowDimension> window;
  int64_t batch = 0;           // of the output
  int64_t channels = 0;        // of the input
  int64_t group_channels = 0;  // that one feature reads
  int64_t features = 0;
  int64_t feature_groups = 1;
  int64_t batch_groups = 1;
  int64_t window_elements = 1;
  int64_t input_positions = 1;  // product of the spatial sizes
  int64_t output_positions = 1;
  double valid_share = 1;  // of pairs of output position and window element that meet an input element
  // For each spatial dimension: input position, times its stride in positions, that window element w of output o reads;
  // -1 outside. [o * size + w]
  std::vector<std::vector<int64_t>> position;

  int64_t groups() const { return feature_groups * batch_groups; }
  int64_t group_features() const { return features / groups(); }
};

absl::StatusOr<Geometry> MakeGeometry(const Call& call) {
  const auto& attributes = call.instruction.attributes<ConvolutionAttributes>();
  const ConvolutionDimensions& dims = attributes.dimensions;
  const Shape& input = call.operand(0).shape();
  const Shape& kernel = call.operand(1).shape();
  Geometry g;
  g.window = attributes.window.dimensions;
  g.batch = call.shape().dimensions[dims.output_batch];
  g.channels = input.dimensions[dims.input_feature];
  g.group_channels = kernel.dimensions[dims.kernel_input_feature];
  g.features = kernel.dimensions[dims.kernel_output_feature];
  g.feature_groups = attributes.feature_group_count;
  g.batch_groups = attributes.batch_group_count;
  if (g.feature_groups < 1 || g.batch_groups < 1 || g.features % g.groups() != 0 ||
      g.group_channels * g.feature_groups != g.channels) {
    return absl::InvalidArgumentError("has group counts that do not divide its channels");
  }
  int64_t stride = 1;
  g.position.resize(g.window.size());
  for (size_t d = g.window.size(); d-- > 0;) {
    const WindowDimension& window = g.window[d];
    const int64_t in = input.dimensions[dims.input_spatial[d]], out = call.shape().dimensions[dims.output_spatial[d]];
    if (window.size > kMaxTable / std::max<int64_t>(1, out))
      return absl::ResourceExhaustedError("has a window that is too large");
    int64_t valid = 0;
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t w = 0; w < window.size; ++w) {
        const int64_t tap = window.reversal ? window.size - 1 - w : w;
        const int64_t at = o * window.stride + tap * window.window_dilation - window.padding_low;
        const bool inside = at >= 0 && at % window.base_dilation == 0 && at / window.base_dilation < in;
        g.position[d].push_back(inside ? at / window.base_dilation * stride : -1);
        valid += inside;
      }
    }
    g.valid_share *= static_cast<double>(valid) / static_cast<double>(std::max<size_t>(1, g.position[d].size()));
    g.input_sizes.insert(g.input_sizes.begin(), in);
    g.output_sizes.insert(g.output_sizes.begin(), out);
    g.window_elements *= window.size;
    g.input_positions *= in;
    g.output_positions *= out;
    stride *= in;
  }
  return g;
}

// An array with its dimensions in another order; the value itself when the order is the same in memory.
absl::StatusOr<Value> Permuted(Evaluation& evaluation, Value value, const std::vector<int64_t>& order) {
  const Shape& shape = value.shape();
  const std::vector<int64_t> strides = shape.Strides();
  StridedCopy copy;
  for (int64_t d : order) {
    copy.sizes.push_back(shape.dimensions[d]);
    copy.source_strides.push_back(strides[d]);
  }
  copy.target_strides = Shape::Array(shape.element_type, copy.sizes).Strides();
  const StridedCopy simple = Simplified(copy);
  if (simple.sizes.size() <= 1 && (simple.sizes.empty() || simple.source_strides[0] == 1)) return value;
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result,
                         evaluation.NewArray(Shape::Array(shape.element_type, copy.sizes)));
  RunStridedCopy(copy, StorageBytes(shape.element_type), value.array().raw(), result->raw());
  return Value(std::move(result));
}

std::vector<int64_t> Order(int64_t first, const std::vector<int64_t>& middle, int64_t last) {
  std::vector<int64_t> order = {first};
  order.insert(order.end(), middle.begin(), middle.end());
  order.push_back(last);
  return order;
}

template <typename T>
class Convolver {
 public:
  Convolver(const Geometry& geometry, const T* input, const T* kernel, T* output)
      : g_(geometry), input_(input), kernel_(kernel), output_(output) {}

  absl::Status Run(Evaluation& evaluation) {
    // Padding and dilation are zeros that take part, as where XLA:CPU calls a library: an infinite weight makes a NaN
    // of them. Leaving them out is for finite weights alone.
    const bool depthwise = g_.feature_groups > 1 && g_.group_channels == 1 && g_.group_features() == 1;
    if ((depthwise || g_.valid_share < kMostlyPadding) && (g_.valid_share == 1 || WeightsAreFinite())) {
      return depthwise ? Depthwise(evaluation) : Sparse(evaluation);
    }
    const int64_t depth = g_.window_elements * g_.group_channels;
    const int64_t width = g_.group_features();
    if (GemmIsThin<T>(g_.batch * g_.output_positions, width, depth)) {
      packed_stride_ = 0;
    } else {
      packed_stride_ = GemmPackedSize<T>(depth, width);
      SMELT_ASSIGN_OR_RETURN(packed_, evaluation.NewScratch(PrimitiveType::kU8, packed_stride_ * g_.groups() *
                                                                                    static_cast<int64_t>(sizeof(T))));
      evaluation.ParallelFor(g_.groups(), static_cast<double>(packed_stride_) * 1e-9, [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group) {
          GemmPack<T>(kernel_ + group * width, depth, width, g_.features, 1, Packed(group));
        }
      });
    }
    // Jobs of a few rows of one group each; their window elements are collected in a block of bounded size.
    const int64_t rows = g_.batch * g_.output_positions;
    const int64_t rows_per_job =
        std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(1, depth), 12, 480) / 12 * 12;
    const int64_t jobs_per_group = (rows + rows_per_job - 1) / rows_per_job;
    const double job_seconds =
        static_cast<double>(rows_per_job) * static_cast<double>(depth) * (static_cast<double>(width) * 0.05e-9 + 1e-9);
    const int64_t jobs = jobs_per_group * g_.groups();
    const int64_t jobs_per_part = std::max<int64_t>(8, static_cast<int64_t>(0.3 / job_seconds));
    for (int64_t first = 0; first < jobs; first += jobs_per_part) {
      SMELT_RETURN_IF_ERROR(evaluation.CheckLimits());
      evaluation.ParallelFor(std::min(jobs_per_part, jobs - first), job_seconds, [&](int64_t begin, int64_t end) {
        std::vector<T> block(static_cast<size_t>(std::min(rows_per_job, rows) * depth));
        for (int64_t job = first + begin; job < first + end; ++job) {
          const int64_t group = job / jobs_per_group, row = job % jobs_per_group * rows_per_job;
          RunRows(group, row, std::min(rows, row + rows_per_job), depth, width, block.data());
        }
      });
    }
    return absl::OkStatus();
  }

 private:
  T* Packed(int64_t group) { return reinterpret_cast<T*>(packed_->raw()) + group * packed_stride_; }

  void RunRows(int64_t group, int64_t begin, int64_t end, int64_t depth, int64_t width, T* block) {
    for (int64_t row = begin; row < end; ++row) CollectRow(group, row, block + (row - begin) * depth);
    T* target = output_ + begin * g_.features + group * width;
    if (packed_stride_ == 0) {
      GemmThin<T>(block, end - begin, depth, 1, kernel_ + group * width, g_.features, 1, depth, width, target,
                  g_.features);
    } else {
      GemmRows<T>(block, end - begin, depth, 1, Packed(group), depth, width, target, g_.features);
    }
  }

  // The input elements under the window of one output position, window element by window element, zeros where there are
  // none.
  void CollectRow(int64_t group, int64_t row, T* target) {
    const int64_t image = row / g_.output_positions + (g_.batch_groups > 1 ? group * g_.batch : 0);
    const int64_t channel = g_.feature_groups > 1 ? group * g_.group_channels : 0;
    const T* source = input_ + image * g_.input_positions * g_.channels + channel;
    CollectDimension(0, row % g_.output_positions, g_.output_positions, 0, true, source, &target);
  }

  void CollectDimension(size_t d, int64_t output, int64_t positions, int64_t offset, bool inside, const T* source,
                        T** target) {
    if (d == g_.window.size()) {
      if (inside) {
        std::copy_n(source + offset * g_.channels, g_.group_channels, *target);
      } else {
        std::fill_n(*target, g_.group_channels, T{});
      }
      *target += g_.group_channels;
      return;
    }
    positions /= g_.output_sizes[d];
    const int64_t size = g_.window[d].size;
    const int64_t* table = g_.position[d].data() + output / positions * size;
    if (d + 1 == g_.window.size()) {
      for (int64_t w = 0; w < size; ++w) {
        const bool valid = inside && table[w] >= 0;
        const T* from = valid ? source + (offset + table[w]) * g_.channels : source;
        if (g_.group_channels == 1) {
          **target = valid ? *from : T{};
        } else if (valid) {
          std::copy_n(from, g_.group_channels, *target);
        } else {
          std::fill_n(*target, g_.group_channels, T{});
        }
        *target += g_.group_channels;
      }
      return;
    }
    for (int64_t w = 0; w < size; ++w) {
      CollectDimension(d + 1, output % positions, positions, offset + table[w], inside && table[w] >= 0, source,
                       target);
    }
  }

  // Only the window elements that meet an input element, one small product each.
  absl::Status Sparse(Evaluation& evaluation) {
    const int64_t rows = g_.batch * g_.output_positions;
    const double seconds = static_cast<double>(g_.window_elements) *
                           (g_.valid_share * static_cast<double>(g_.group_channels * g_.features) * 0.3e-9 + 1e-9);
    const int64_t rows_per_part = std::max<int64_t>(64, static_cast<int64_t>(0.5 / seconds));
    for (int64_t first = 0; first < rows; first += rows_per_part) {
      SMELT_RETURN_IF_ERROR(evaluation.CheckLimits());
      evaluation.ParallelFor(std::min(rows_per_part, rows - first), seconds, [&](int64_t begin, int64_t end) {
        std::vector<T> sums(static_cast<size_t>(g_.group_features()));
        for (int64_t row = first + begin; row < first + end; ++row) {
          std::fill_n(output_ + row * g_.features, g_.features, T{});
          for (int64_t group = 0; group < g_.groups(); ++group) {
            const int64_t image = row / g_.output_positions + (g_.batch_groups > 1 ? group * g_.batch : 0);
            const int64_t channel = g_.feature_groups > 1 ? group * g_.group_channels : 0;
            SparseDimension(0, row % g_.output_positions, g_.output_positions, 0, 0,
                            input_ + image * g_.input_positions * g_.channels + channel, group, row, &sums);
          }
        }
      });
    }
    return absl::OkStatus();
  }

  void SparseDimension(size_t d, int64_t output, int64_t positions, int64_t offset, int64_t tap, const T* source,
                       int64_t group, int64_t row, std::vector<T>* sums) {
    const int64_t width = g_.group_features();
    if (d == g_.window.size()) {
      const T* weights = kernel_ + tap * g_.group_channels * g_.features + group * width;
      GemmThin<T>(source + offset * g_.channels, 1, g_.group_channels, 1, weights, g_.features, 1, g_.group_channels,
                  width, sums->data(), width);
      T* target = output_ + row * g_.features + group * width;
      for (int64_t i = 0; i < width; ++i) target[i] += (*sums)[i];
      return;
    }
    positions /= g_.output_sizes[d];
    const int64_t size = g_.window[d].size;
    const int64_t* table = g_.position[d].data() + output / positions * size;
    for (int64_t w = 0; w < size; ++w) {
      if (table[w] < 0) continue;
      SparseDimension(d + 1, output % positions, positions, offset + table[w], tap * size + w, source, group, row,
                      sums);
    }
  }

  bool WeightsAreFinite() const {
    // x - x is 0 for a finite x, a NaN for others; true for integers.
    return std::all_of(kernel_, kernel_ + g_.window_elements * g_.group_channels * g_.features,
                       [](T weight) { return weight - weight == T{}; });
  }

  // One channel per feature: channels side by side, no matrix.
  absl::Status Depthwise(Evaluation& evaluation) {
    const int64_t rows = g_.batch * g_.output_positions;
    evaluation.ParallelFor(
        rows, static_cast<double>(g_.window_elements * g_.channels) * 0.5e-9, [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            T* target = output_ + row * g_.features;
            std::fill_n(target, g_.features, T{});
            const T* source = input_ + row / g_.output_positions * g_.input_positions * g_.channels;
            const T* weights = kernel_;
            DepthwiseDimension(0, row % g_.output_positions, g_.output_positions, 0, true, source, &weights, target);
          }
        });
    return absl::OkStatus();
  }

  void DepthwiseDimension(size_t d, int64_t output, int64_t positions, int64_t offset, bool inside, const T* source,
                          const T** weights, T* target) {
    if (d == g_.window.size()) {
      if (inside) {
        const T* from = source + offset * g_.channels;
        const T* factor = *weights;
        for (int64_t c = 0; c < g_.channels; ++c) target[c] += from[c] * factor[c];
      }
      *weights += g_.features;
      return;
    }
    positions /= g_.output_sizes[d];
    const int64_t* table = g_.position[d].data() + output / positions * g_.window[d].size;
    for (int64_t w = 0; w < g_.window[d].size; ++w) {
      DepthwiseDimension(d + 1, output % positions, positions, offset + table[w], inside && table[w] >= 0, source,
                         weights, target);
    }
  }

  const Geometry& g_;
  const T* input_;
  const T* kernel_;
  T* output_;
  std::shared_ptr<Literal> packed_;
  int64_t packed_stride_ = 0;
};

}  // namespace

absl::StatusOr<Value> EvaluateConvolution(const Call& call) {
  SMELT_ASSIGN_OR_RETURN(const Geometry geometry, MakeGeometry(call));
  const ConvolutionDimensions& dims = call.instruction.attributes<ConvolutionAttributes>().dimensions;
  const Shape& shape = call.shape();
  const PrimitiveType type =
      ContractionType(call.operand(0).shape().element_type, call.operand(1).shape().element_type, shape.element_type);
  SMELT_ASSIGN_OR_RETURN(Value input, ConvertedTo(call.evaluation, std::move(call.operand(0)), type));
  SMELT_ASSIGN_OR_RETURN(Value kernel, ConvertedTo(call.evaluation, std::move(call.operand(1)), type));
  SMELT_ASSIGN_OR_RETURN(input, Permuted(call.evaluation, std::move(input),
                                         Order(dims.input_batch, dims.input_spatial, dims.input_feature)));
  std::vector<int64_t> kernel_order = dims.kernel_spatial;
  kernel_order.push_back(dims.kernel_input_feature);
  kernel_order.push_back(dims.kernel_output_feature);
  SMELT_ASSIGN_OR_RETURN(kernel, Permuted(call.evaluation, std::move(kernel), kernel_order));

  const std::vector<int64_t> output_order = Order(dims.output_batch, dims.output_spatial, dims.output_feature);
  Shape ordered = Shape::Array(type, {});
  for (int64_t d : output_order) ordered.dimensions.push_back(shape.dimensions[d]);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> output, call.evaluation.NewArray(ordered));
  if (ordered.ElementCount() > 0) {
    SMELT_RETURN_IF_ERROR(VisitContractionType(type, [&](auto element) {
      using T = decltype(element);
      Convolver<T> convolver(geometry, input.data<T>(), kernel.data<T>(), static_cast<T*>(output->raw()));
      return convolver.Run(call.evaluation);
    }));
  }
  std::vector<int64_t> back(output_order.size());
  for (size_t i = 0; i < output_order.size(); ++i) back[output_order[i]] = static_cast<int64_t>(i);
  SMELT_ASSIGN_OR_RETURN(Value result, Permuted(call.evaluation, Value(std::move(output)), back));
  SMELT_ASSIGN_OR_RETURN(result, RoundedTo(call.evaluation, std::move(result), shape.element_type));
  std::shared_ptr<Literal> array = result.TakeArray();
  array->Reshape(shape.dimensions);
  return Value(std::move(array));
}

}  // namespace smelt::hlo
