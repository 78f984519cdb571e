#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "kernels/te/hlo/position.h"
#include "kernels/te/hlo/rules.h"
#include "kernels/te/hlo/winograd.h"

namespace smelt::kernels::te {
namespace {

// One spatial dimension of a convolution.
//
// Output o = phases * q + r of a phased dimension reads spread position o + k - padding_low, a real element where
// phases divides it: k = phases * j + (padding_low - r) mod phases, and the element is q + j - floor((padding_low - r)
// / phases).
struct Spatial {
  hlo::WindowDimension window;
  int64_t input = 1;  // extents
  int64_t output = 1;
  // A transposed convolution (base_dilation > 1, stride 1) computes each phase, o mod base_dilation, by the taps that
  // meet real elements: ceil(size / base_dilation) of them. 1: there are no phases.
  int64_t phases = 1;
  int64_t taps() const { return phases == 1 ? window.size : CeilDiv(window.size, phases); }
  // Output extent of one phase.
  int64_t phase_output() const { return CeilDiv(output, phases); }
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

// The copy of the input with its padding: position p of the copy is position p - low of the input, spread by its
// dilation; a phased dimension is padded in the input's own resolution.
struct Border {
  int64_t low = 0;
  int64_t extent = 0;
};

Border BorderOf(const Spatial& s) {
  if (s.phases > 1) {
    const int64_t pad = s.window.padding_low;
    const auto floor_div = [](int64_t a, int64_t b) { return a >= 0 ? a / b : -(CeilDiv(-a, b)); };
    const int64_t lowest = -floor_div(pad, s.phases);
    const int64_t highest = s.phase_output() - 1 + s.taps() - 1 - floor_div(pad - (s.phases - 1), s.phases);
    return {.low = -lowest, .extent = highest - lowest + 1};
  }
  if (s.identity()) return {.low = 0, .extent = s.input};
  return {.low = s.window.padding_low, .extent = s.last() + s.window.padding_low + 1};
}

// Where a tap of a phase lies in the window; beyond its end where the phase has no such tap.
Expr TapPosition(const Spatial& s, const Expr& phase, const Expr& tap) {
  return s.phases > 1 ? tap * s.phases + FloorMod(Expr(s.window.padding_low) - phase, s.phases) : tap;
}
Expr KernelPosition(const Spatial& s, const Expr& phase, const Expr& tap) {
  const Expr k = TapPosition(s, phase, tap);
  return s.window.reversal ? Expr(s.window.size - 1) - k : k;
}
// Whether some phases have a tap less than others.
bool IsUneven(const Spatial& s) { return s.window.size % s.phases != 0; }

Expr Accumulate(const Expr& x, PrimitiveType type) { return x.type().element == type ? x : Cast({type, 1}, x); }

Expr Zero(DataType type) { return hlo::IsFloat(type.element) ? FloatConst(type, 0) : IntConst(type, 0); }

class Convolution {
 public:
  explicit Convolution(const RuleInput& input)
      : input_(input),
        attributes_(input.instruction.attributes<hlo::ConvolutionAttributes>()),
        d_(attributes_.dimensions),
        in_(input.operand_dimensions(0)),
        kernel_(input.operand_dimensions(1)),
        spatial_(SpatialDimensions(input, attributes_)),
        rank_(spatial_.size()) {
    bool padded = false;
    for (const Spatial& s : spatial_) {
      borders_.push_back(BorderOf(s));
      phased_ = phased_ || s.phases > 1;
      uneven_ = uneven_ || IsUneven(s);
      padded = padded || s.phases > 1 || !s.identity();
    }
    const PrimitiveType sum = AccumulatorType(input.type());
    source_ = WidenedOperand(input, input.operand(0), in_, sum, "_input");
    taps_ = WidenedOperand(input, input.operand(1), kernel_, sum, "_kernel");
    if (padded) source_ = Padded(source_);  // a constant input has its border, too
    MakeAxes();
    if (uneven_) taps_ = TapsByPhase(taps_);
  }

  Value Emit() const { return phased_ ? Interleaved(Phases()) : Plain(); }

 private:
  int64_t features_per_group() const { return kernel_[d_.kernel_input_feature]; }
  int64_t output_features() const { return input_.dimensions()[d_.output_feature]; }

  // A stage of its own, so that the inner loops have no conditions; a schedule decides where it is computed.
  Value Padded(const Value& picture) const {
    std::vector<int64_t> shape = in_;
    for (size_t i = 0; i < rank_; ++i) shape[d_.input_spatial[i]] = borders_[i].extent;
    const auto element = [&](Indices indices) {
      std::vector<Expr> position(indices.begin(), indices.end());
      Expr inside = Bool(true);
      for (size_t i = 0; i < rank_; ++i) {
        const Spatial& s = spatial_[i];
        const int64_t dilation = s.phases > 1 ? 1 : s.window.base_dilation;
        const int64_t span = (s.input - 1) * dilation + 1;
        Expr spread = indices[d_.input_spatial[i]] - borders_[i].low;
        if (borders_[i].low > 0) inside = And(inside, spread >= 0);
        if (borders_[i].extent - borders_[i].low > span) inside = And(inside, spread < span);
        if (dilation > 1) inside = And(inside, FloorMod(spread, dilation) == 0);
        position[d_.input_spatial[i]] = FloorDiv(spread, dilation);
      }
      Expr read = picture.At(position);
      return If(inside, read, Zero(read.type()));
    };
    return {Compute(absl::StrCat(input_.name, "_pad"), shape, element, std::string(kBorderTag)), Expr()};
  }

  // Window taps and input features in the order of the input's dimensions: the loops of the sum then walk through
  // memory, also where a gradient takes pixels for taps and the batch for features. A dimension of one tap needs no
  // axis.
  void MakeAxes() {
    tap_.assign(rank_, Expr(0));
    std::vector<std::tuple<int64_t, int64_t, Expr*>> sums;  // dimension, extent, where its variable goes
    for (size_t i = 0; i < rank_; ++i) {
      if (spatial_[i].taps() > 1) sums.emplace_back(d_.input_spatial[i], spatial_[i].taps(), &tap_[i]);
    }
    if (features_per_group() > 1 || sums.empty()) {
      sums.emplace_back(d_.input_feature, features_per_group(), &input_feature_);
    }
    std::sort(sums.begin(), sums.end());
    for (const auto& [dimension, extent, variable] : sums) {
      axes_.emplace_back(extent, absl::StrCat("r", axes_.size()));
      *variable = axes_.back();
    }
  }

  // A copy of the kernel by phase and tap, with zeros where a phase has no such tap.
  Value TapsByPhase(const Value& weights) const {
    std::vector<int64_t> shape;
    for (const Spatial& s : spatial_) shape.push_back(s.phases);
    for (const Spatial& s : spatial_) shape.push_back(s.taps());
    shape.push_back(features_per_group());
    shape.push_back(output_features());
    const auto element = [&](Indices indices) {
      std::vector<Expr> w(kernel_.size());
      Expr exists = Bool(true);
      for (size_t i = 0; i < rank_; ++i) {
        Expr& position = w[d_.kernel_spatial[i]];
        position = KernelPosition(spatial_[i], indices[i], indices[rank_ + i]);
        if (!IsUneven(spatial_[i])) continue;
        exists = And(exists, position >= 0);
        exists = And(exists, position < spatial_[i].window.size);
      }
      w[d_.kernel_input_feature] = indices[2 * rank_];
      w[d_.kernel_output_feature] = indices[2 * rank_ + 1];
      Expr weight = weights.At(w);
      return If(exists, weight, Zero(weight.type()));
    };
    return {Compute(absl::StrCat(input_.name, "_taps"), shape, element, "taps"), Expr()};
  }

  // An output position, of which a phased dimension is given by its phase and its block: o mod phases and o / phases.
  struct Position {
    std::vector<Expr> phase;  // empty where no dimension is phased
    std::vector<Expr> block;
    Expr batch, feature;
  };

  Expr InputElement(const Position& at) const {
    std::vector<Expr> x(in_.size());
    for (size_t i = 0; i < rank_; ++i) {
      const Spatial& s = spatial_[i];
      Expr& position = x[d_.input_spatial[i]];
      if (s.phases > 1) {
        position =
            at.block[i] + tap_[i] - FloorDiv(Expr(s.window.padding_low) - at.phase[i], s.phases) + borders_[i].low;
        continue;
      }
      position = at.block[i] * s.window.stride + tap_[i] * s.window.window_dilation;
      if (!s.identity()) position = position + (borders_[i].low - s.window.padding_low);
    }
    x[d_.input_batch] = at.batch;
    if (attributes_.batch_group_count > 1) {
      const int64_t batches = in_[d_.input_batch] / attributes_.batch_group_count;
      x[d_.input_batch] = FloorDiv(at.feature, output_features() / attributes_.batch_group_count) * batches + at.batch;
    }
    x[d_.input_feature] = input_feature_;
    if (attributes_.feature_group_count > 1) {
      const Expr group = FloorDiv(at.feature, output_features() / attributes_.feature_group_count);
      x[d_.input_feature] = group * features_per_group() + input_feature_;
    }
    return source_.At(x);
  }

  Expr Weight(const Position& at) const {
    std::vector<Expr> w(uneven_ ? 2 * rank_ + 2 : kernel_.size());
    for (size_t i = 0; i < rank_; ++i) {
      const Expr phase = spatial_[i].phases > 1 ? at.phase[i] : Expr(0);
      if (uneven_) {
        w[i] = phase;
        w[rank_ + i] = tap_[i];
      } else {
        w[d_.kernel_spatial[i]] = KernelPosition(spatial_[i], phase, tap_[i]);
      }
    }
    w[uneven_ ? 2 * rank_ : d_.kernel_input_feature] = input_feature_;
    w[uneven_ ? 2 * rank_ + 1 : d_.kernel_output_feature] = at.feature;
    return taps_.At(w);
  }

  // What is summed over the axes.
  Expr Product(const Position& at, PrimitiveType type) const {
    const Expr term = Binary(BinaryOp::kMul, Accumulate(InputElement(at), type), Accumulate(Weight(at), type));
    if (!uneven_) return term;
    // Loops skip the taps that a phase does not have.
    Expr exists = Bool(true);
    for (size_t i = 0; i < rank_; ++i) {
      if (!IsUneven(spatial_[i])) continue;
      exists = And(exists, TapPosition(spatial_[i], at.phase[i], tap_[i]) < spatial_[i].window.size);
    }
    return If(exists, term, Zero({type, 1}));
  }

  Value Plain() const {
    const auto source = [&](Indices indices, PrimitiveType type) {
      Position at{.batch = indices[d_.output_batch], .feature = indices[d_.output_feature]};
      for (size_t i = 0; i < rank_; ++i) at.block.push_back(indices[d_.output_spatial[i]]);
      return Product(at, type);
    };
    return EmitContraction(input_, input_.dimensions(), source, axes_);
  }

  // Phases outermost, then the output's dimensions with phased ones shortened.
  Value Phases() const {
    std::vector<int64_t> shape;
    for (const Spatial& s : spatial_) shape.push_back(s.phases);
    shape.insert(shape.end(), input_.dimensions().begin(), input_.dimensions().end());
    for (size_t i = 0; i < rank_; ++i) shape[rank_ + d_.output_spatial[i]] = spatial_[i].phase_output();
    const auto source = [&](Indices indices, PrimitiveType type) {
      Position at{.phase = std::vector<Expr>(indices.begin(), indices.begin() + rank_),
                  .batch = indices[rank_ + d_.output_batch],
                  .feature = indices[rank_ + d_.output_feature]};
      for (size_t i = 0; i < rank_; ++i) at.block.push_back(indices[rank_ + d_.output_spatial[i]]);
      return Product(at, type);
    };
    return EmitContraction(input_, shape, source, axes_, "_phases");
  }

  Value Interleaved(const Value& phases) const {
    const auto element = [&](Indices indices) {
      std::vector<Expr> position(rank_, Expr(0));
      position.insert(position.end(), indices.begin(), indices.end());
      for (size_t i = 0; i < rank_; ++i) {
        const Expr& o = indices[d_.output_spatial[i]];
        position[i] = FloorMod(o, spatial_[i].phases);
        position[rank_ + d_.output_spatial[i]] = FloorDiv(o, spatial_[i].phases);
      }
      return phases.At(position);
    };
    return {Compute(input_.name, input_.dimensions(), element, "interleave"), Expr()};
  }

  const RuleInput& input_;
  const hlo::ConvolutionAttributes& attributes_;
  const hlo::ConvolutionDimensions& d_;
  const std::vector<int64_t>& in_;  // sizes of the operands
  const std::vector<int64_t>& kernel_;
  const std::vector<Spatial> spatial_;
  const size_t rank_;  // of the window
  std::vector<Border> borders_;
  bool phased_ = false;  // some dimension is
  bool uneven_ = false;  // in some dimension
  std::vector<ReduceAxis> axes_;
  std::vector<Expr> tap_;  // by spatial dimension
  Expr input_feature_ = Expr(0);
  Value source_;  // the input, padded
  Value taps_;    // the kernel, by phase where phases have different taps
};

}  // namespace

absl::StatusOr<std::vector<Value>> ConvolutionRule(const RuleInput& input) {
  if (input.algorithm != ConvolutionAlgorithm::kDirect) return std::vector<Value>{WinogradConvolution(input)};
  return std::vector<Value>{Convolution(input).Emit()};
}

}  // namespace smelt::kernels::te
