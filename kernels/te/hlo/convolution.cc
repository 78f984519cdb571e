#include "absl/strings/str_cat.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

// One spatial dimension of a convolution.
struct Spatial {
  hlo::WindowDimension window;
  int64_t input = 1;  // extents
  int64_t output = 1;
  // A transposed convolution (base_dilation > 1, stride 1) computes each phase, o mod base_dilation, by the taps that
  // meet real elements: ceil(size / base_dilation) of them. 1: there are no phases.
  int64_t phases = 1;
  int64_t taps() const { return phases == 1 ? window.size : (window.size + phases - 1) / phases; }
  // Output extent of one phase.
  int64_t phase_output() const { return (output + phases - 1) / phases; }
  bool identity() const { return window.padding_low == 0 && window.base_dilation == 1 && last() < input; }
  // The last position that a window reads, in the input spread by base_dilation and shifted by padding_low.
  int64_t last() const {
    return (output - 1) * window.stride + (window.size - 1) * window.window_dilation - window.padding_low;
  }
};

std::vector<Spatial> SpatialDimensions(const RuleInput& input, const hlo::ConvolutionAttributes& convolution) {
  std::vector<Spatial> dimensions;
  for (size_t i = 0; i < convolution.window.dimensions.size(); ++i) {
    Spatial s;
    s.window = convolution.window.dimensions[i];
    s.input = input.operand_dimensions(0)[convolution.dimensions.input_spatial[i]];
    s.output = input.dimensions()[convolution.dimensions.output_spatial[i]];
    if (s.window.base_dilation > 1 && s.window.stride == 1 && s.window.window_dilation == 1) {
      s.phases = s.window.base_dilation;
    }
    dimensions.push_back(s);
  }
  return dimensions;
}

Expr Accumulate(const Expr& x, PrimitiveType type) { return x.type().element == type ? x : Cast({type, 1}, x); }

}  // namespace

// Padding becomes a stage of its own, a copy of the input with its border, so that the inner loops have no conditions;
// a schedule decides where it is computed.
absl::StatusOr<std::vector<Value>> ConvolutionRule(const RuleInput& input) {
  const hlo::ConvolutionAttributes& convolution = input.instruction.attributes<hlo::ConvolutionAttributes>();
  const hlo::ConvolutionDimensions& d = convolution.dimensions;
  const std::vector<Spatial> spatial = SpatialDimensions(input, convolution);
  const size_t rank = spatial.size();
  const std::vector<int64_t>& in = input.operand_dimensions(0);
  const std::vector<int64_t>& kernel = input.operand_dimensions(1);
  const int64_t out_features = input.dimensions()[d.output_feature];
  const int64_t features_per_group = kernel[d.kernel_input_feature];
  const int64_t out_per_group = out_features / convolution.feature_group_count;
  const int64_t out_per_batch_group = out_features / convolution.batch_group_count;
  const int64_t batch_per_group = in[d.input_batch] / convolution.batch_group_count;

  bool phased = false;
  for (const Spatial& s : spatial) phased = phased || s.phases > 1;

  // Input with its padding: position p of the copy is position p - shift of the (spread) input. Phased dimensions are
  // padded in the input's own resolution.
  struct Border {
    int64_t low = 0;
    int64_t extent = 0;
  };
  std::vector<Border> border(rank);
  bool padded = false;
  for (size_t i = 0; i < rank; ++i) {
    const Spatial& s = spatial[i];
    if (s.phases > 1) {
      // Reads q + j - FloorDiv(pad - r, phases) for 0 <= r < phases (see below).
      const int64_t pad = s.window.padding_low;
      const auto floor_div = [](int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
      const int64_t lowest = -floor_div(pad, s.phases);
      const int64_t highest = s.phase_output() - 1 + s.taps() - 1 - floor_div(pad - (s.phases - 1), s.phases);
      border[i].low = -lowest;
      border[i].extent = highest - lowest + 1;
      padded = true;
    } else if (s.identity()) {
      border[i].extent = s.input;
    } else {
      border[i].low = s.window.padding_low;
      border[i].extent = s.last() + s.window.padding_low + 1;
      padded = true;
    }
  }
  const PrimitiveType sum = AccumulatorType(input.type());
  const Value picture = WidenedOperand(input, input.operand(0), in, sum, "_input");
  const Value weights = WidenedOperand(input, input.operand(1), kernel, sum, "_kernel");
  Value source = picture;
  if (padded) {  // a constant input has its border, too
    std::vector<int64_t> shape = in;
    for (size_t i = 0; i < rank; ++i) shape[d.input_spatial[i]] = border[i].extent;
    source = {Compute(
                  absl::StrCat(input.name, "_pad"), shape,
                  [&](Indices indices) {
                    std::vector<Expr> position(indices.begin(), indices.end());
                    Expr inside = Bool(true);
                    for (size_t i = 0; i < rank; ++i) {
                      const Spatial& s = spatial[i];
                      const int64_t dilation = s.phases > 1 ? 1 : s.window.base_dilation;
                      const int64_t span = (s.input - 1) * dilation + 1;
                      Expr spread = indices[d.input_spatial[i]] - border[i].low;
                      if (border[i].low > 0) inside = And(inside, spread >= 0);
                      if (border[i].extent - border[i].low > span) inside = And(inside, spread < span);
                      if (dilation > 1) inside = And(inside, FloorMod(spread, dilation) == 0);
                      position[d.input_spatial[i]] = FloorDiv(spread, dilation);
                    }
                    Expr element = picture.At(position);
                    const DataType type = element.type();
                    return If(inside, element, hlo::IsFloat(type.element) ? FloatConst(type, 0) : IntConst(type, 0));
                  },
                  "pad"),
              Expr()};
  }

  // Window taps, then input features. A dimension of one tap needs no axis.
  std::vector<ReduceAxis> axes;
  std::vector<int> tap_axis(rank, -1);
  for (size_t i = 0; i < rank; ++i) {
    if (spatial[i].taps() == 1) continue;
    tap_axis[i] = static_cast<int>(axes.size());
    axes.emplace_back(spatial[i].taps(), absl::StrCat("r", axes.size()));
  }
  int feature_axis = -1;
  if (features_per_group > 1 || axes.empty()) {
    feature_axis = static_cast<int>(axes.size());
    axes.emplace_back(features_per_group, absl::StrCat("r", axes.size()));
  }
  const Expr input_feature = feature_axis >= 0 ? Expr(axes[feature_axis]) : Expr(0);

  // Where tap `tap` of dimension i lies in the kernel. In a phased dimension, output o = phases*q + r reads spread
  // position o + k - pad, a real element where phases divides it: k = phases*j + (pad - r) mod phases, and the element
  // is q + j - floor((pad - r) / phases).
  const auto tap_position = [&](size_t i, const Expr& phase, const Expr& tap) {
    const Spatial& s = spatial[i];
    return s.phases > 1 ? tap * s.phases + FloorMod(Expr(s.window.padding_low) - phase, s.phases) : tap;
  };
  const auto kernel_position = [&](size_t i, const Expr& phase, const Expr& tap) {
    const Expr k = tap_position(i, phase, tap);
    return spatial[i].window.reversal ? Expr(spatial[i].window.size - 1) - k : k;
  };
  // Where the phases do not divide the window, some have a tap less than others: a copy of the kernel by phase and tap
  // holds zeros there.
  bool uneven = false;
  for (const Spatial& s : spatial) uneven = uneven || s.window.size % s.phases != 0;
  Value taps = weights;
  if (uneven) {
    std::vector<int64_t> shape;
    for (const Spatial& s : spatial) shape.push_back(s.phases);
    for (const Spatial& s : spatial) shape.push_back(s.taps());
    shape.push_back(features_per_group);
    shape.push_back(out_features);
    taps = {Compute(
                absl::StrCat(input.name, "_taps"), shape,
                [&](Indices indices) {
                  std::vector<Expr> w(kernel.size());
                  Expr exists = Bool(true);
                  for (size_t i = 0; i < rank; ++i) {
                    w[d.kernel_spatial[i]] = kernel_position(i, indices[i], indices[rank + i]);
                    if (spatial[i].window.size % spatial[i].phases == 0) continue;
                    exists = And(exists, w[d.kernel_spatial[i]] >= 0);
                    exists = And(exists, w[d.kernel_spatial[i]] < spatial[i].window.size);
                  }
                  w[d.kernel_input_feature] = indices[2 * rank];
                  w[d.kernel_output_feature] = indices[2 * rank + 1];
                  Expr weight = weights.At(w);
                  const DataType type = weight.type();
                  return If(exists, weight, hlo::IsFloat(type.element) ? FloatConst(type, 0) : IntConst(type, 0));
                },
                "taps"),
            Expr()};
  }

  // Source of the sum at an output position; `phase` and `block` stand for a phased dimension's o mod phases and
  // o / phases.
  const auto product = [&](const std::vector<Expr>& phase, const std::vector<Expr>& block, const Expr& batch,
                           const Expr& feature, PrimitiveType type) {
    std::vector<Expr> x(in.size());
    std::vector<Expr> w(uneven ? 2 * rank + 2 : kernel.size());
    for (size_t i = 0; i < rank; ++i) {
      const Spatial& s = spatial[i];
      const Expr tap = tap_axis[i] >= 0 ? Expr(axes[tap_axis[i]]) : Expr(0);
      const Expr of_phase = s.phases > 1 ? phase[i] : Expr(0);
      if (s.phases > 1) {
        x[d.input_spatial[i]] =
            block[i] + tap - FloorDiv(Expr(s.window.padding_low) - of_phase, s.phases) + border[i].low;
      } else {
        x[d.input_spatial[i]] = block[i] * s.window.stride + tap * s.window.window_dilation;
        if (!s.identity()) {
          x[d.input_spatial[i]] = x[d.input_spatial[i]] + (border[i].low - s.window.padding_low);
        }
      }
      if (uneven) {
        w[i] = of_phase;
        w[rank + i] = tap;
      } else {
        w[d.kernel_spatial[i]] = kernel_position(i, of_phase, tap);
      }
    }
    x[d.input_batch] = batch;
    if (convolution.batch_group_count > 1) {
      x[d.input_batch] = FloorDiv(feature, out_per_batch_group) * batch_per_group + batch;
    }
    x[d.input_feature] = input_feature;
    if (convolution.feature_group_count > 1) {
      x[d.input_feature] = FloorDiv(feature, out_per_group) * features_per_group + input_feature;
    }
    w[uneven ? 2 * rank : d.kernel_input_feature] = input_feature;
    w[uneven ? 2 * rank + 1 : d.kernel_output_feature] = feature;
    const Expr term = Binary(BinaryOp::kMul, Accumulate(source.At(x), type), Accumulate(taps.At(w), type));
    if (!uneven) return term;
    // Loops skip the taps that a phase does not have.
    Expr exists = Bool(true);
    for (size_t i = 0; i < rank; ++i) {
      if (spatial[i].window.size % spatial[i].phases == 0) continue;
      exists = And(exists, tap_position(i, phase[i], tap_axis[i] >= 0 ? Expr(axes[tap_axis[i]]) : Expr(0)) <
                               spatial[i].window.size);
    }
    return If(exists, term, hlo::IsFloat(type) ? FloatConst({type, 1}, 0) : IntConst({type, 1}, 0));
  };

  if (!phased) {
    return std::vector<Value>{EmitContraction(
        input, input.dimensions(),
        [&](Indices indices, PrimitiveType type) {
          std::vector<Expr> position;
          for (size_t i = 0; i < rank; ++i) position.push_back(indices[d.output_spatial[i]]);
          return product({}, position, indices[d.output_batch], indices[d.output_feature], type);
        },
        axes)};
  }

  // Phases outermost, then the output's dimensions with phased ones shortened; the result interleaves them again.
  std::vector<int64_t> shape(rank, 1);
  for (size_t i = 0; i < rank; ++i) shape[i] = spatial[i].phases;
  shape.insert(shape.end(), input.dimensions().begin(), input.dimensions().end());
  for (size_t i = 0; i < rank; ++i) shape[rank + d.output_spatial[i]] = spatial[i].phase_output();
  const Value phases = EmitContraction(
      input, shape,
      [&](Indices indices, PrimitiveType type) {
        std::vector<Expr> phase(indices.begin(), indices.begin() + rank);
        std::vector<Expr> block;
        for (size_t i = 0; i < rank; ++i) block.push_back(indices[rank + d.output_spatial[i]]);
        return product(phase, block, indices[rank + d.output_batch], indices[rank + d.output_feature], type);
      },
      axes, "_phases");
  return std::vector<Value>{Value{Compute(
                                      input.name, input.dimensions(),
                                      [&](Indices indices) {
                                        std::vector<Expr> position(rank, Expr(0));
                                        position.insert(position.end(), indices.begin(), indices.end());
                                        for (size_t i = 0; i < rank; ++i) {
                                          const Expr& o = indices[d.output_spatial[i]];
                                          position[i] = FloorMod(o, spatial[i].phases);
                                          position[rank + d.output_spatial[i]] = FloorDiv(o, spatial[i].phases);
                                        }
                                        return phases.At(position);
                                      },
                                      "interleave"),
                                  Expr()}};
}

}  // namespace smelt::kernels::te
