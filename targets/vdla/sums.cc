#include "targets/vdla/sums.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ceil_div.h"
#include "base/status_macros.h"
#include "hlo/attributes.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::vdla {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using lower::Places;
using DimList = std::vector<int64_t>;

bool Has(const Instruction& x, PrimitiveType type) { return x.shape().IsArray() && x.shape().element_type == type; }
int64_t Count(const Places& places) { return static_cast<int64_t>(places.size()); }
// The dimensions of `shape` that are not in `used`.
DimList Rest(const hlo::Shape& shape, const DimList& used) {
  DimList rest;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::find(used.begin(), used.end(), d) == used.end()) rest.push_back(d);
  }
  return rest;
}

DimList Range(size_t begin, size_t count) {
  DimList range(count);
  std::iota(range.begin(), range.end(), static_cast<int64_t>(begin));
  return range;
}

// The dimension among `dims` whose blocks of channels waste the fewest lanes; the last of equal ones, where channels
// stand most often. -1: there is none.
int64_t BestChannels(const hlo::Shape& shape, const DimList& dims, int64_t block) {
  int64_t best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t d : dims) {
    const int64_t size = shape.dimensions[static_cast<size_t>(d)];
    const double waste = static_cast<double>(CeilDiv(size, block) * block) / static_cast<double>(size);
    if (waste <= least) best = d, least = waste;
  }
  return best;
}

// What a reduction or window of integers folds with, where it begins at a number.
struct Folding {
  Opcode by;
  int64_t begin;
};
std::optional<Folding> FoldingOf(const Instruction& x) {
  if ((x.opcode() != Opcode::kReduce && x.opcode() != Opcode::kReduceWindow) || x.operand_count() != 2)
    return std::nullopt;
  const std::optional<Opcode> by = hlo::BinaryOperation(*x.called(0));
  const hlo::Literal* begin = hlo::UniformLiteral(*x.operand(1));
  if (!by || begin == nullptr || !hlo::IsInteger(begin->shape().element_type)) return std::nullopt;
  return Folding{*by, begin->GetInteger(0)};
}

class SumsBuilder {
 public:
  SumsBuilder(const Instruction& x, const Operands& operands, const isa::Config& config, bool swapped, Layer* layer)
      : x_(x), operands_(operands), config_(config), swapped_(swapped), layer_(*layer), c_(layer->convolution) {}

  absl::StatusOr<Sums> Build() {
    if (config_.batch != 1) return RefuseLayer(x_, "on a machine of a batch above 1: layers are packed for one row");
    if (x_.shape().ElementCount() == 0) return RefuseLayer(x_, "has no elements");
    for (const Instruction* operand : x_.operands()) {
      if (operand->shape().ElementCount() == 0) return RefuseLayer(x_, "has no elements");
    }
    switch (x_.opcode()) {
      case Opcode::kDot:
        return Dot();
      case Opcode::kConvolution:
        return Convolution();
      case Opcode::kReduce:
      case Opcode::kReduceWindow:
        return Pooling();
      default:
        return Elementwise();
    }
  }

 private:
  absl::Status CheckProducts() const {
    if (Has(x_, PrimitiveType::kS32) && Has(*x_.operand(0), PrimitiveType::kS8) &&
        Has(*x_.operand(1), PrimitiveType::kS8))
      return absl::OkStatus();
    return RefuseLayer(x_, "does not sum products of s8 in s32");
  }
  absl::Status CheckByChannel() const {
    if (config_.block_in == config_.block_out) return absl::OkStatus();
    return RefuseLayer(x_, "works by channel, and the machine's blocks are not square");
  }

  // Sizes of the convolution from the views.
  Sums Finish(Sums sums) {
    c_.images = Count(layer_.data_view.images);
    c_.in_blocks = CeilDiv(Count(layer_.data_view.channels), config_.block_in);
    c_.out_blocks = CeilDiv(Count(sums.moved.PlacesOf(sums.channels)), config_.block_out);
    c_.height = Count(layer_.data_view.height);
    c_.width = Count(layer_.data_view.width);
    return sums;
  }

  absl::StatusOr<Sums> Dot() {
    SMELT_RETURN_IF_ERROR(CheckProducts());
    const auto& dot = x_.attributes<hlo::DotAttributes>();
    const int64_t data = swapped_ ? 1 : 0;
    const DimList* batch[] = {&dot.lhs_batch, &dot.rhs_batch};
    const DimList* summed[] = {&dot.lhs_contracting, &dot.rhs_contracting};
    DimList free[2];
    for (const int i : {0, 1}) {
      DimList used = *batch[i];
      used.insert(used.end(), summed[i]->begin(), summed[i]->end());
      free[i] = Rest(x_.operand(i)->shape(), used);
    }
    Rearrangement rows(x_.operand(data)->shape()), columns(x_.operand(1 - data)->shape());
    SMELT_ASSIGN_OR_RETURN(layer_.data, operands_.Trace(*x_.operand(data), &rows));
    SMELT_ASSIGN_OR_RETURN(layer_.weights, operands_.Trace(*x_.operand(1 - data), &columns));
    layer_.data_view = {.images = rows.PlacesOf(*batch[data]),
                        .channels = rows.PlacesOf(*summed[data]),
                        .height = {0},
                        .width = rows.PlacesOf(free[data])};
    layer_.weight_view = {.images = columns.PlacesOf(*batch[1 - data]),
                          .outputs = columns.PlacesOf(free[1 - data]),
                          .inputs = columns.PlacesOf(*summed[1 - data]),
                          .height = {0},
                          .width = {0}};
    c_.weights_by_image = Count(layer_.weight_view.images) > 1;
    // The result has the batch, then what is left of the left operand, then of the right one.
    Sums sums{.moved = Rearrangement(x_.shape()), .images = {}, .channels = {}, .height = {}, .width = {}};
    const size_t batches = dot.lhs_batch.size();
    sums.images = Range(0, batches);
    const DimList of_left = Range(batches, free[0].size()), of_right = Range(batches + free[0].size(), free[1].size());
    sums.width = swapped_ ? of_right : of_left;
    sums.channels = swapped_ ? of_left : of_right;
    return Finish(std::move(sums));
  }

  absl::StatusOr<Sums> Convolution() {
    SMELT_RETURN_IF_ERROR(CheckProducts());
    const auto& attributes = x_.attributes<hlo::ConvolutionAttributes>();
    const hlo::ConvolutionDimensions& dims = attributes.dimensions;
    const hlo::Shape& in = x_.operand(0)->shape();
    const int64_t features = in.dimensions[dims.input_feature];
    if (attributes.batch_group_count != 1) return RefuseLayer(x_, "is a convolution in groups of the batch");
    if (attributes.feature_group_count != 1) {
      if (attributes.feature_group_count != features || x_.shape().dimensions[dims.output_feature] != features)
        return RefuseLayer(x_, "is a convolution in groups of several channels");
      SMELT_RETURN_IF_ERROR(CheckByChannel());
      c_.sum = lower::Convolution::Sum::kProductsByChannel;
    }
    const size_t spatial = dims.input_spatial.size();
    if (spatial > 2) return RefuseLayer(x_, "has more than two spatial dimensions");
    for (const hlo::WindowDimension& window : attributes.window.dimensions) {
      if (window.base_dilation != 1 || window.window_dilation != 1) return RefuseLayer(x_, "is a dilated convolution");
      if (window.padding_low < 0 || window.padding_high < 0)
        return RefuseLayer(x_, "crops its input by negative padding");
    }
    Rearrangement data(in), kernel(x_.operand(1)->shape());
    SMELT_ASSIGN_OR_RETURN(layer_.data, operands_.Trace(*x_.operand(0), &data));
    SMELT_ASSIGN_OR_RETURN(layer_.weights, operands_.Trace(*x_.operand(1), &kernel));
    Sums sums{.moved = Rearrangement(x_.shape()),
              .images = {dims.output_batch},
              .channels = {dims.output_feature},
              .height = {},
              .width = {}};
    layer_.data_view.images = data.PlacesOf({dims.input_batch});
    layer_.data_view.channels = data.PlacesOf({dims.input_feature});
    layer_.weight_view.outputs = kernel.PlacesOf({dims.kernel_output_feature});
    layer_.weight_view.inputs = kernel.PlacesOf({dims.kernel_input_feature});
    for (size_t s = 0; s < spatial; ++s) {
      const hlo::WindowDimension& window = attributes.window.dimensions[s];
      const bool is_height = spatial == 2 && s == 0;
      (is_height ? layer_.data_view.height : layer_.data_view.width) = data.PlacesOf({dims.input_spatial[s]});
      Places& taps = is_height ? layer_.weight_view.height : layer_.weight_view.width;
      taps = kernel.PlacesOf({dims.kernel_spatial[s]});
      if (window.reversal) std::reverse(taps.begin(), taps.end());
      (is_height ? sums.height : sums.width) = {dims.output_spatial[s]};
      SetWindow(is_height, window);
    }
    FoldColumns();
    return Finish(std::move(sums));
  }

  // The window's columns beside the channels, where fewer blocks hold both than each column's channels would take.
  void FoldColumns() {
    const int64_t channels = Count(layer_.data_view.channels), columns = c_.kernel_width, block = config_.block_in;
    if (c_.by_channel() || columns == 1 || CeilDiv(columns * channels, block) >= columns * CeilDiv(channels, block))
      return;
    const int64_t out_width =
        (Count(layer_.data_view.width) + c_.padding.left + c_.padding.right - columns) / c_.stride_width + 1;
    const int64_t height = Count(layer_.data_view.height);
    layer_.folded = {.source = layer_.data_view,
                     .padded_width = Count(layer_.data_view.width) + c_.padding.left + c_.padding.right,
                     .left = c_.padding.left};
    const int64_t row = layer_.folded.padded_width * channels;
    layer_.data_view = {.images = lower::Strided(Count(layer_.data_view.images), height * row),
                        .channels = lower::Strided(columns * channels, 1),
                        .height = lower::Strided(height, row),
                        .width = lower::Strided(out_width, c_.stride_width * channels)};
    Places inputs;
    for (const int64_t column : layer_.weight_view.width) {
      for (const int64_t channel : layer_.weight_view.inputs) inputs.push_back(column + channel);
    }
    layer_.weight_view.inputs = std::move(inputs);
    layer_.weight_view.width = {0};
    c_.kernel_width = c_.stride_width = 1;
    c_.padding.left = c_.padding.right = 0;
  }

  void SetWindow(bool is_height, const hlo::WindowDimension& window) {
    (is_height ? c_.kernel_height : c_.kernel_width) = window.size;
    (is_height ? c_.stride_height : c_.stride_width) = window.stride;
    (is_height ? c_.padding.top : c_.padding.left) = window.padding_low;
    (is_height ? c_.padding.bottom : c_.padding.right) = window.padding_high;
  }

  // Sums of widened int8 by products with ones, maxima of int8 by the ALU.
  absl::StatusOr<Sums> Pooling() {
    const std::optional<Folding> folding = FoldingOf(x_);
    if (!folding) return RefuseLayer(x_, "does not fold by one operation, from a number on");
    SMELT_RETURN_IF_ERROR(CheckByChannel());
    const Instruction* values = x_.operand(0);
    if (folding->by == Opcode::kAdd) {
      if (!Has(x_, PrimitiveType::kS32) || folding->begin != 0)
        return RefuseLayer(x_, "does not sum in s32, from zero on");
      if (values->opcode() == Opcode::kConvert) values = values->operand(0);
      c_.sum = lower::Convolution::Sum::kProductsByChannel;
    } else if (folding->by == Opcode::kMaximum && Has(x_, PrimitiveType::kS8)) {
      c_.sum = lower::Convolution::Sum::kMaximum;
      if (folding->begin > std::numeric_limits<int8_t>::min())
        c_.epilogue.push_back({.op = isa::AluOp::kMax, .imm = static_cast<int32_t>(folding->begin), .name = ""});
    } else {
      return RefuseLayer(x_, "folds neither by addition in s32 nor by the maximum of s8");
    }
    if (!Has(*values, PrimitiveType::kS8)) return RefuseLayer(x_, "folds no s8");
    Rearrangement data(values->shape());
    SMELT_ASSIGN_OR_RETURN(layer_.data, operands_.Trace(*values, &data));
    return x_.opcode() == Opcode::kReduce ? Reduction(data, values->shape()) : Window(data, values->shape());
  }

  absl::StatusOr<Sums> Reduction(const Rearrangement& data, const hlo::Shape& in) {
    const DimList& reduced = x_.attributes<hlo::DimensionsAttributes>().dimensions;
    const DimList kept = Rest(in, reduced);
    const int64_t channels = BestChannels(in, kept, config_.block_out);
    Sums sums{.moved = Rearrangement(x_.shape()), .images = {}, .channels = {}, .height = {}, .width = {}};
    DimList images;
    for (size_t k = 0; k < kept.size(); ++k) {
      if (kept[k] == channels) {
        sums.channels = {static_cast<int64_t>(k)};
      } else {
        images.push_back(kept[k]);
        sums.images.push_back(static_cast<int64_t>(k));
      }
    }
    layer_.data_view = {.images = data.PlacesOf(images),
                        .channels = channels < 0 ? Places{0} : data.PlacesOf({channels}),
                        .height = {0},
                        .width = data.PlacesOf(reduced)};
    c_.kernel_width = Count(layer_.data_view.width);
    layer_.weight_view.outputs = lower::Strided(Count(layer_.data_view.channels), 0);
    layer_.weight_view.width = lower::Strided(c_.kernel_width, 0);
    return Finish(std::move(sums));
  }

  absl::StatusOr<Sums> Window(const Rearrangement& data, const hlo::Shape& in) {
    const hlo::Window& window = x_.attributes<hlo::WindowAttributes>().window;
    DimList moving;
    for (int64_t d = 0; d < in.rank(); ++d) {
      const hlo::WindowDimension& w = window.dimensions[static_cast<size_t>(d)];
      if (w.base_dilation != 1 || w.window_dilation != 1) return RefuseLayer(x_, "is a dilated window");
      if (w.padding_low < 0 || w.padding_high < 0) return RefuseLayer(x_, "crops its input by negative padding");
      if (w.size != 1 || w.stride != 1 || w.padding_low != 0 || w.padding_high != 0) moving.push_back(d);
    }
    if (moving.size() > 2) return RefuseLayer(x_, "has a window of more than two dimensions");
    const DimList kept = Rest(in, moving);
    const int64_t channels = BestChannels(in, kept, config_.block_out);
    DimList images = kept;
    std::erase(images, channels);
    Sums sums{.moved = Rearrangement(x_.shape()), .images = images, .channels = {}, .height = {}, .width = {}};
    if (channels >= 0) sums.channels = {channels};
    layer_.data_view.images = data.PlacesOf(images);
    layer_.data_view.channels = data.PlacesOf(sums.channels);
    for (size_t m = 0; m < moving.size(); ++m) {
      const bool is_height = moving.size() == 2 && m == 0;
      (is_height ? layer_.data_view.height : layer_.data_view.width) = data.PlacesOf({moving[m]});
      (is_height ? sums.height : sums.width) = {moving[m]};
      SetWindow(is_height, window.dimensions[static_cast<size_t>(moving[m])]);
    }
    layer_.weight_view.outputs = lower::Strided(Count(layer_.data_view.channels), 0);
    layer_.weight_view.height = lower::Strided(c_.kernel_height, 0);
    layer_.weight_view.width = lower::Strided(c_.kernel_width, 0);
    return Finish(std::move(sums));
  }

  absl::StatusOr<Sums> Elementwise() {
    const Instruction& values = x_.opcode() == Opcode::kConvert ? *x_.operand(0) : x_;
    if (!Has(values, PrimitiveType::kS8))
      return RefuseLayer(x_, "is neither a convolution, dot or pooling of s8 nor s8 itself");
    SMELT_RETURN_IF_ERROR(CheckByChannel());
    Rearrangement data(values.shape());
    SMELT_ASSIGN_OR_RETURN(layer_.data, operands_.Trace(values, &data));
    c_.sum = lower::Convolution::Sum::kMaximum;
    Sums sums{.moved = Rearrangement(x_.shape()), .images = {}, .channels = {}, .height = {}, .width = {}};
    const int64_t channels = BestChannels(x_.shape(), Rest(x_.shape(), {}), config_.block_out);
    if (channels >= 0) sums.channels = {channels};
    sums.width = Rest(x_.shape(), sums.channels);
    layer_.data_view = {
        .images = {0}, .channels = data.PlacesOf(sums.channels), .height = {0}, .width = data.PlacesOf(sums.width)};
    return Finish(std::move(sums));
  }

  const Instruction& x_;
  const Operands& operands_;
  const isa::Config& config_;
  const bool swapped_;
  Layer& layer_;
  lower::Convolution& c_;
};

}  // namespace

absl::Status RefuseLayer(const Instruction& at, absl::string_view why) {
  return absl::UnimplementedError(absl::StrCat("`", at.name(), "` ", why));
}

Operands::Operands(const hlo::Computation& kernel) {
  int64_t leaf = 0;
  for (const Instruction* parameter : kernel.Parameters()) {
    leaves_.push_back(parameter->shape().IsArray() ? leaf : -1);
    leaf += parameter->shape().LeafCount();
  }
}

absl::StatusOr<Source> Operands::Trace(const Instruction& y, Rearrangement* moved) const {
  const Instruction* at = &y;
  while (Rearrangement::Is(*at)) {
    if (!moved->Undo(*at)) return RefuseLayer(*at, "regroups what a list of places cannot say");
    at = at->operand(0);
  }
  if (at->opcode() == Opcode::kConstant) return Source{.parameter = -1, .constant = &at->literal()};
  if (at->opcode() != Opcode::kParameter) return RefuseLayer(*at, "is computed in the same kernel");
  const int64_t leaf = leaves_[static_cast<size_t>(at->attributes<hlo::ParameterAttributes>().number)];
  if (leaf < 0) return RefuseLayer(*at, "is a tuple");
  return Source{.parameter = leaf};
}

std::vector<int64_t> Sums::others() const {
  DimList all = images;
  for (const DimList* dims : {&height, &width}) all.insert(all.end(), dims->begin(), dims->end());
  return all;
}

bool BeginsSums(const Instruction& x) {
  return x.opcode() == Opcode::kDot || x.opcode() == Opcode::kConvolution || x.opcode() == Opcode::kReduce ||
         x.opcode() == Opcode::kReduceWindow;
}

absl::StatusOr<Sums> SumsOf(const Instruction& x, const Operands& operands, const isa::Config& config, bool swapped,
                            Layer* layer) {
  return SumsBuilder(x, operands, config, swapped, layer).Build();
}

}  // namespace smelt::vdla
