#include "targets/vdla/layer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fusion/kernel.h"
#include "hlo/attributes.h"
#include "hlo/quantize/multiply_shift.h"
#include "hlo/rewrite/constants.h"

namespace smelt::vdla {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using isa::AluOp;
using lower::EpilogueStep;
using Operand = EpilogueStep::Operand;

absl::Status Refuse(const Instruction& at, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("`", at.name(), "` ", why));
}

bool Has(const Instruction& x, PrimitiveType type) { return x.shape().IsArray() && x.shape().element_type == type; }

// The value of all elements, where it is a number of 16 bits: an immediate.
std::optional<int32_t> Immediate(const Instruction& x) {
  const hlo::Literal* literal = hlo::UniformLiteral(x);
  if (literal == nullptr || !hlo::IsInteger(literal->shape().element_type)) return std::nullopt;
  const int64_t value = literal->GetInteger(0);
  if (value < std::numeric_limits<int16_t>::min() || value > std::numeric_limits<int16_t>::max()) return std::nullopt;
  return static_cast<int32_t>(value);
}

// Elements from one index of a dimension to the next one, in row-major order.
std::vector<int64_t> Strides(const hlo::Shape& shape) {
  std::vector<int64_t> strides(shape.dimensions.size());
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape.dimensions[d];
  }
  return strides;
}

class Matcher {
 public:
  Matcher(const hlo::Computation& kernel, const isa::Config& config) : kernel_(kernel), config_(config) {
    int64_t leaf = 0;
    for (const Instruction* parameter : kernel.Parameters()) {
      leaves_.push_back(parameter->shape().IsArray() ? leaf : -1);
      leaf += parameter->shape().LeafCount();
    }
  }

  absl::StatusOr<Layer> Run() {
    const Instruction* x = kernel_.root();
    layer_.convolution.name = x->name();
    if (!x->shape().IsArray()) return Refuse(*x, "gives several results, and VDLA one");
    root_ = x;
    layer_.convolution.int8_output = Has(*x, PrimitiveType::kS8);
    if (layer_.convolution.int8_output) {
      if (x->opcode() != Opcode::kConvert || !Has(*x->operand(0), PrimitiveType::kS32))
        return Refuse(*x, "gives s8 that are no saturated sums of s32");
      x = x->operand(0);
    } else if (!Has(*x, PrimitiveType::kS32)) {
      return Refuse(*x, "gives neither s8 nor s32");
    }
    // From the result to the sums; the steps are in the order of the work at the end.
    while (x->opcode() == Opcode::kClamp || x->opcode() == Opcode::kMaximum || x->opcode() == Opcode::kMinimum) {
      SMELT_RETURN_IF_ERROR(Clip(*x, &x));
    }
    if (layer_.convolution.int8_output && !ClipsToInt8())
      return Refuse(*root_, "converts to s8 what may be outside its range");
    DropWhatTheStoreDoes();
    SMELT_RETURN_IF_ERROR(Rescaled(*x));
    std::reverse(clips_.begin(), clips_.end());
    for (EpilogueStep& step : clips_) layer_.convolution.epilogue.push_back(std::move(step));
    return std::move(layer_);
  }

 private:
  // A clamp, maximum or minimum by numbers; `inner` becomes what it clips. Steps are gathered from the last to the
  // first.
  absl::Status Clip(const Instruction& x, const Instruction** inner) {
    const auto add = [&](AluOp op, const Instruction& bound) -> absl::Status {
      const std::optional<int32_t> imm = Immediate(bound);
      if (!imm) return Refuse(x, "clips to what is no number of 16 bits");
      clips_.push_back({.op = op, .operand = Operand::kImmediate, .imm = *imm, .name = {}});
      return absl::OkStatus();
    };
    if (x.opcode() == Opcode::kClamp) {
      *inner = x.operand(1);
      SMELT_RETURN_IF_ERROR(add(AluOp::kMin, *x.operand(2)));
      return add(AluOp::kMax, *x.operand(0));
    }
    const AluOp op = x.opcode() == Opcode::kMaximum ? AluOp::kMax : AluOp::kMin;
    const int64_t bound = Immediate(*x.operand(1)) ? 1 : 0;
    *inner = x.operand(1 - bound);
    return add(op, *x.operand(bound));
  }

  // Whether what the clips leave, one after the other, lies in s8's range.
  bool ClipsToInt8() const {
    int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
    for (auto step = clips_.rbegin(); step != clips_.rend(); ++step) {
      for (int64_t* bound : {&low, &high})
        *bound = step->op == AluOp::kMin ? std::min<int64_t>(*bound, step->imm) : std::max<int64_t>(*bound, step->imm);
    }
    return low >= -128 && high <= 127;
  }

  // A store saturates by itself; what clips to s8's own range last, or no further than a step behind it, costs cycles
  // for nothing.
  void DropWhatTheStoreDoes() {
    if (!layer_.convolution.int8_output) return;
    std::erase_if(clips_, [](const EpilogueStep& step) {
      return (step.op == AluOp::kMin && step.imm == 127) || (step.op == AluOp::kMax && step.imm == -128);
    });
  }

  // What stands before the clips: one rescaled sum, the sum of such a one and a rescaled residual, or bare sums.
  absl::Status Rescaled(const Instruction& x) {
    if (x.opcode() == Opcode::kAdd && Has(x, PrimitiveType::kS32)) {
      for (const int64_t side : {0, 1}) {
        const Instruction &sum = *x.operand(side), &other = *x.operand(1 - side);
        const auto residual = hlo::quantize::MatchMultiplyShift(other);
        // Products of 8 and 24 bits never leave s32.
        if (!residual || S8Operand(*residual->x) == nullptr || !hlo::quantize::MatchMultiplyShift(sum)) continue;
        SMELT_RETURN_IF_ERROR(ScaledSum(sum));
        return Residual(x, *residual);
      }
    }
    return ScaledSum(x);
  }

  absl::Status ScaledSum(const Instruction& x) {
    const auto scaled = hlo::quantize::MatchMultiplyShift(x);
    if (!scaled || !Has(*scaled->x, PrimitiveType::kS32)) return Biased(x);
    if (!scaled->saturates) return Refuse(x, "wraps around where VDLA's multiply-shift saturates");
    SMELT_RETURN_IF_ERROR(Biased(*scaled->x));
    SMELT_RETURN_IF_ERROR(AddChannelValues(x, "scale", *scaled->factor, scaled->shift));
    layer_.convolution.epilogue.push_back(
        {.op = AluOp::kMulShift, .operand = Operand::kPerChannel, .imm = 0, .name = "scale"});
    return absl::OkStatus();
  }

  absl::Status Residual(const Instruction& add, const hlo::quantize::MatchedMultiplyShift& match) {
    SMELT_ASSIGN_OR_RETURN(layer_.residual, SourceOf(*S8Operand(*match.x)));
    layer_.has_residual = true;
    layer_.residual_view = layer_.output_view;
    SMELT_RETURN_IF_ERROR(AddChannelValues(add, "residual_scale", *match.factor, match.shift));
    layer_.convolution.epilogue.push_back({.op = AluOp::kAdd,
                                           .operand = Operand::kTensor,
                                           .imm = 0,
                                           .name = "residual",
                                           .tensor_scale = "residual_scale"});
    return absl::OkStatus();
  }

  // The s8 of the kernel's operands that a rescaling starts from; null: it starts from something else.
  const Instruction* S8Operand(const Instruction& x) const {
    const Instruction* s8 = x.opcode() == Opcode::kConvert ? x.operand(0) : &x;
    return Has(*s8, PrimitiveType::kS8) && SourceOf(*s8).ok() ? s8 : nullptr;
  }

  // Sums, with a bias for each channel or without.
  absl::Status Biased(const Instruction& x) {
    if (x.opcode() != Opcode::kAdd) return Contraction(x);
    for (const int64_t side : {0, 1}) {
      if (!IsContraction(*x.operand(side))) continue;
      SMELT_RETURN_IF_ERROR(Contraction(*x.operand(side)));
      SMELT_RETURN_IF_ERROR(AddChannelValues(x, "bias", *x.operand(1 - side), -1));
      layer_.convolution.epilogue.push_back(
          {.op = AluOp::kAdd, .operand = Operand::kPerChannel, .imm = 0, .name = "bias"});
      return absl::OkStatus();
    }
    return Refuse(x, "adds what is neither a bias of a channel nor a rescaled residual");
  }

  static bool IsContraction(const Instruction& x) {
    return x.opcode() == Opcode::kDot || x.opcode() == Opcode::kConvolution;
  }

  absl::Status Contraction(const Instruction& x) {
    if (!IsContraction(x)) return Refuse(x, "is no convolution or dot, where int8 products are summed");
    if (!Has(x, PrimitiveType::kS32) || !Has(*x.operand(0), PrimitiveType::kS8) ||
        !Has(*x.operand(1), PrimitiveType::kS8))
      return Refuse(x, "does not sum products of s8 in s32");
    if (config_.batch != 1) return Refuse(x, "on a machine of a batch above 1: layers are packed for one row");
    if (x.shape().ElementCount() == 0 || x.operand(0)->shape().ElementCount() == 0) return Refuse(x, "has no elements");
    return x.opcode() == Opcode::kDot ? Dot(x) : Convolution(x);
  }

  absl::Status Convolution(const Instruction& x) {
    const auto& attributes = x.attributes<hlo::ConvolutionAttributes>();
    const hlo::ConvolutionDimensions& dims = attributes.dimensions;
    if (attributes.feature_group_count != 1 || attributes.batch_group_count != 1)
      return Refuse(x, "is a convolution in groups");
    const size_t spatial = dims.input_spatial.size();
    if (spatial > 2) return Refuse(x, "has more than two spatial dimensions");
    SMELT_ASSIGN_OR_RETURN(layer_.data, SourceOf(*x.operand(0)));
    SMELT_ASSIGN_OR_RETURN(layer_.weights, SourceOf(*x.operand(1)));
    const hlo::Shape &in = x.operand(0)->shape(), &kernel = x.operand(1)->shape(), &out = x.shape();
    const std::vector<int64_t> in_strides = Strides(in), kernel_strides = Strides(kernel), out_strides = Strides(out);
    ActivationView &data = layer_.data_view, &output = layer_.output_view;
    WeightView& weight = layer_.weight_view;
    data.images = in.dimensions[dims.input_batch];
    data.image_stride = in_strides[dims.input_batch];
    data.channels = in.dimensions[dims.input_feature];
    data.channel_stride = in_strides[dims.input_feature];
    output.images = data.images;
    output.image_stride = out_strides[dims.output_batch];
    output.channels = out.dimensions[dims.output_feature];
    output.channel_stride = out_strides[dims.output_feature];
    weight.outputs = output.channels;
    weight.output_stride = kernel_strides[dims.kernel_output_feature];
    weight.inputs = data.channels;
    weight.input_stride = kernel_strides[dims.kernel_input_feature];
    channel_dim_ = dims.output_feature;
    lower::Convolution& c = layer_.convolution;
    for (size_t s = 0; s < spatial; ++s) {
      const hlo::WindowDimension& window = attributes.window.dimensions[s];
      if (window.base_dilation != 1 || window.window_dilation != 1) return Refuse(x, "is a dilated convolution");
      if (window.padding_low < 0 || window.padding_high < 0) return Refuse(x, "crops its input by negative padding");
      const int64_t size = in.dimensions[dims.input_spatial[s]], out_size = out.dimensions[dims.output_spatial[s]];
      const bool is_height = spatial == 2 && s == 0;
      (is_height ? data.height : data.width) = size;
      (is_height ? data.height_stride : data.width_stride) = in_strides[dims.input_spatial[s]];
      (is_height ? output.height : output.width) = out_size;
      (is_height ? output.height_stride : output.width_stride) = out_strides[dims.output_spatial[s]];
      (is_height ? weight.height : weight.width) = window.size;
      (is_height ? weight.height_stride : weight.width_stride) = kernel_strides[dims.kernel_spatial[s]];
      (is_height ? weight.reversed_height : weight.reversed_width) = window.reversal;
      (is_height ? c.kernel_height : c.kernel_width) = window.size;
      (is_height ? c.stride_height : c.stride_width) = window.stride;
      (is_height ? c.padding.top : c.padding.left) = window.padding_low;
      (is_height ? c.padding.bottom : c.padding.right) = window.padding_high;
    }
    return Sizes();
  }

  absl::Status Dot(const Instruction& x) {
    const auto& dot = x.attributes<hlo::DotAttributes>();
    if (!dot.lhs_batch.empty()) return Refuse(x, "is a batch of products");
    if (dot.lhs_contracting.size() != 1) return Refuse(x, "sums over more or less than one dimension");
    SMELT_ASSIGN_OR_RETURN(const Source left, SourceOf(*x.operand(0)));
    SMELT_ASSIGN_OR_RETURN(const Source right, SourceOf(*x.operand(1)));
    // The columns of the result, its last dimensions, are the right operand's: they are the channels, unless what is
    // known of each channel lies along the rows.
    const hlo::Shape &lhs = x.operand(0)->shape(), &rhs = x.operand(1)->shape();
    const int64_t k = lhs.dimensions[dot.lhs_contracting[0]];
    if (rhs.rank() > 2 || (rhs.rank() == 2 && x.shape().rank() != lhs.rank()))
      return Refuse(x, "has a right operand of more than two dimensions");
    // The rows are the left operand's other dimensions as one, which they are in memory if the summed one is the last
    // or the only one before them.
    const int64_t contracted = dot.lhs_contracting[0];
    if (contracted != lhs.rank() - 1 && contracted != 0) return Refuse(x, "sums over a dimension between others");
    const int64_t rows = lhs.ElementCount() / k, columns = rhs.ElementCount() / k;
    const bool last = contracted == lhs.rank() - 1;
    layer_.data = left;
    layer_.weights = right;
    layer_.data_view = {.channels = k, .width = rows, .channel_stride = last ? 1 : rows, .width_stride = last ? k : 1};
    const bool k_first = rhs.rank() < 2 || dot.rhs_contracting[0] == 0;
    layer_.weight_view = {
        .outputs = columns, .inputs = k, .output_stride = k_first ? 1 : k, .input_stride = k_first ? columns : 1};
    layer_.output_view = {.channels = columns, .width = rows, .channel_stride = 1, .width_stride = columns};
    channel_dim_ = rhs.rank() < 2 ? -1 : x.shape().rank() - 1;
    return Sizes();
  }

  absl::Status Sizes() {
    const auto blocks = [](int64_t channels, int64_t block) { return (channels + block - 1) / block; };
    lower::Convolution& c = layer_.convolution;
    c.images = layer_.data_view.images;
    c.in_blocks = blocks(layer_.data_view.channels, config_.block_in);
    c.out_blocks = blocks(layer_.output_view.channels, config_.block_out);
    c.height = layer_.data_view.height;
    c.width = layer_.data_view.width;
    return absl::OkStatus();
  }

  // Looks through what is the same bytes in another shape.
  absl::StatusOr<Source> SourceOf(const Instruction& y) const {
    const Instruction* at = &y;
    while (at->operand_count() == 1 && fusion::KeepsBytes(*at)) at = at->operand(0);
    const Instruction& x = *at;
    if (x.opcode() == Opcode::kConstant) return Source{.parameter = -1, .constant = &x.literal()};
    if (x.opcode() != Opcode::kParameter) return Refuse(x, "is computed in the same kernel");
    const int64_t number = x.attributes<hlo::ParameterAttributes>().number;
    if (leaves_[number] < 0) return Refuse(x, "is a tuple");
    return Source{.parameter = leaves_[number]};
  }

  // Values that depend on the channel alone, in the shape of the result: through broadcasts and reshapes down to a
  // parameter or constant that lists them.
  absl::Status AddChannelValues(const Instruction& at, std::string name, const Instruction& values, int shift) {
    const Instruction* x = &values;
    const auto one_value = [](const Instruction& y) { return y.shape().ElementCount() == 1; };
    const auto along = [](const Instruction& y, int64_t dim) {  // nothing but this dimension has several indices
      return dim >= 0 && y.shape().dimensions[dim] == y.shape().ElementCount();
    };
    int64_t dim = channel_dim_;
    while (!one_value(*x) && x->opcode() == Opcode::kBroadcast) {
      const std::vector<int64_t>& dims = x->attributes<hlo::DimensionsAttributes>().dimensions;
      const Instruction& source = *x->operand(0);
      int64_t place = -1;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == dim) place = static_cast<int64_t>(d);
      }
      if (!one_value(source) && (place < 0 || !along(source, place)))
        return Refuse(at, "has values along another dimension than the channels'");
      dim = place;
      x = &source;
    }
    if (!one_value(*x) && !along(*x, dim))
      return Refuse(at, "adds or multiplies by what is no list of a channel's values");
    // A list keeps its order, whatever shape it has.
    while ((x->operand_count() == 1 && fusion::KeepsBytes(*x)) || (one_value(*x) && x->opcode() == Opcode::kBroadcast))
      x = x->operand(0);
    SMELT_ASSIGN_OR_RETURN(const Source source, SourceOf(*x));
    layer_.channel_values.push_back(
        {.name = std::move(name), .source = source, .uniform = one_value(*x), .shift = shift});
    return absl::OkStatus();
  }

  const hlo::Computation& kernel_;
  const isa::Config& config_;
  std::vector<int64_t> leaves_;  // by parameter: its leaf; -1: a tuple
  const Instruction* root_ = nullptr;
  int64_t channel_dim_ = -1;  // of the result; -1: it has none
  std::vector<EpilogueStep> clips_;
  Layer layer_;
};

}  // namespace

absl::StatusOr<Layer> LayerOf(const hlo::Computation& kernel, const isa::Config& config) {
  return Matcher(kernel, config).Run();
}

}  // namespace smelt::vdla
