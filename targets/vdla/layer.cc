#include "targets/vdla/layer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/attributes.h"
#include "hlo/quantize/multiply_shift.h"
#include "hlo/rewrite/constants.h"
#include "targets/vdla/sums.h"

namespace smelt::vdla {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using isa::AluOp;
using lower::EpilogueStep;

bool Has(const Instruction& x, PrimitiveType type) { return x.shape().IsArray() && x.shape().element_type == type; }

bool IsClip(const Instruction& x) {
  return x.opcode() == Opcode::kClamp || x.opcode() == Opcode::kMaximum || x.opcode() == Opcode::kMinimum;
}

// The value of all elements, where it is a number of 16 bits: an immediate.
std::optional<int32_t> Immediate(const Instruction& x) {
  const hlo::Literal* literal = hlo::UniformLiteral(x);
  if (literal == nullptr || !hlo::IsInteger(literal->shape().element_type)) return std::nullopt;
  const int64_t value = literal->GetInteger(0);
  if (value < std::numeric_limits<int16_t>::min() || value > std::numeric_limits<int16_t>::max()) return std::nullopt;
  return static_cast<int32_t>(value);
}

class Matcher {
 public:
  // `swapped`: as of SumsOf.
  Matcher(const hlo::Computation& kernel, const isa::Config& config, bool swapped)
      : kernel_(kernel), config_(config), swapped_(swapped), operands_(kernel) {}

  absl::StatusOr<Layer> Run() {
    root_ = kernel_.root();
    layer_.convolution.name = root_->name();
    if (!root_->shape().IsArray()) return RefuseLayer(*root_, "gives several results, and VDLA one");
    const Instruction* x = root_;
    // From the result to the sums; what is gathered here is in the order of the work at the end.
    std::vector<const Instruction*> moves;
    const auto skip_moves = [&] {
      for (; Rearrangement::Is(*x); x = x->operand(0)) moves.push_back(x);
    };
    skip_moves();
    layer_.convolution.int8_output = Has(*x, PrimitiveType::kS8);
    const bool narrowed = layer_.convolution.int8_output && x->opcode() == Opcode::kConvert;
    if (narrowed) {
      x = x->operand(0);
      skip_moves();
    }
    if (!layer_.convolution.int8_output && !Has(*x, PrimitiveType::kS32))
      return RefuseLayer(*root_, "gives neither s8 nor s32");
    if (narrowed ? !Has(*x, PrimitiveType::kS32) : layer_.convolution.int8_output && !BeginsSums(*x))
      return RefuseLayer(*root_, "gives s8 that are no saturated sums of s32");
    for (; IsClip(*x); skip_moves()) SMELT_RETURN_IF_ERROR(Clip(*x, &x));
    if (narrowed && !ClipsToInt8()) return RefuseLayer(*root_, "converts to s8 what may be outside its range");
    DropWhatTheStoreDoes();
    SMELT_RETURN_IF_ERROR(Rescaled(*x));
    for (auto move = moves.rbegin(); move != moves.rend(); ++move) SMELT_RETURN_IF_ERROR(Move(**move));
    std::reverse(clips_.begin(), clips_.end());
    for (EpilogueStep& step : clips_) layer_.convolution.epilogue.push_back(std::move(step));
    // Four bytes for each one, and nothing but arithmetic that whoever reads it does on the way: no layer of its own,
    // so that it becomes part of the one that adds it.
    if (!layer_.convolution.has_weights() && !layer_.convolution.int8_output)
      return RefuseLayer(*root_, "rescales s8 to s32 and sums nothing");
    layer_.output_view = ViewOf(sums_->moved);
    return std::move(layer_);
  }

 private:
  // A clamp, maximum or minimum by numbers; `inner` becomes what it clips. Steps are gathered from the last to the
  // first.
  absl::Status Clip(const Instruction& x, const Instruction** inner) {
    const auto add = [&](AluOp op, const Instruction& bound) -> absl::Status {
      const std::optional<int32_t> imm = Immediate(bound);
      if (!imm) return RefuseLayer(x, "clips to what is no number of 16 bits");
      clips_.push_back({.op = op, .operand = lower::EpilogueOperand::kImmediate, .imm = *imm, .name = {}});
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
    if (Rearrangement::Is(x)) {
      SMELT_RETURN_IF_ERROR(Rescaled(*x.operand(0)));
      return Move(x);
    }
    if (x.opcode() == Opcode::kAdd && Has(x, PrimitiveType::kS32)) {
      for (const int64_t side : {0, 1}) {
        const Instruction& other = *x.operand(1 - side);
        const auto residual = hlo::quantize::MatchMultiplyShift(other);
        // Products of 8 and 24 bits never leave s32.
        if (!residual || S8Operand(*residual->x) == nullptr || !IsRescaled(*x.operand(side))) continue;
        SMELT_RETURN_IF_ERROR(Rescaled(*x.operand(side)));
        return Residual(x, *residual);
      }
    }
    return ScaledSum(x);
  }

  static bool IsRescaled(const Instruction& x) {
    const Instruction* at = &x;
    while (Rearrangement::Is(*at)) at = at->operand(0);
    return hlo::quantize::MatchMultiplyShift(*at).has_value();
  }

  absl::Status ScaledSum(const Instruction& x) {
    const auto scaled = hlo::quantize::MatchMultiplyShift(x);
    if (!scaled) return Biased(x);
    if (!scaled->saturates) return RefuseLayer(x, "wraps around where VDLA's multiply-shift saturates");
    SMELT_RETURN_IF_ERROR(Biased(*scaled->x));
    return Step(x, {.op = AluOp::kMulShift, .operand = lower::EpilogueOperand::kPerChannel, .imm = 0, .name = "scale"},
                *scaled->factor, scaled->shift);
  }

  absl::Status Residual(const Instruction& add, const hlo::quantize::MatchedMultiplyShift& match) {
    Rearrangement moved = sums_->moved;
    SMELT_ASSIGN_OR_RETURN(layer_.residual, operands_.Trace(*S8Operand(*match.x), &moved));
    layer_.residual_view = ViewOf(moved);
    SMELT_RETURN_IF_ERROR(AddChannelValues(add, "residual_scale", *match.factor, match.shift));
    layer_.convolution.epilogue.push_back({.op = AluOp::kAdd,
                                           .operand = lower::EpilogueOperand::kTensor,
                                           .imm = 0,
                                           .name = "residual",
                                           .tensor_scale = "residual_scale"});
    return absl::OkStatus();
  }

  // The s8 of the kernel's operands that a rescaling starts from; null: it starts from something else.
  const Instruction* S8Operand(const Instruction& x) const {
    const Instruction* s8 = &x;
    while (s8->opcode() == Opcode::kConvert || Rearrangement::Is(*s8)) {
      if (Has(*s8, PrimitiveType::kS8)) break;
      s8 = s8->operand(0);
    }
    const Instruction* at = s8;
    while (Rearrangement::Is(*at)) at = at->operand(0);
    const bool given = at->opcode() == Opcode::kParameter || at->opcode() == Opcode::kConstant;
    return Has(*s8, PrimitiveType::kS8) && given ? s8 : nullptr;
  }

  // Sums, with a bias for each channel or without.
  absl::Status Biased(const Instruction& x) {
    if (Rearrangement::Is(x) && !Has(x, PrimitiveType::kS8)) {
      SMELT_RETURN_IF_ERROR(Biased(*x.operand(0)));
      return Move(x);
    }
    if (x.opcode() != Opcode::kAdd) {
      SMELT_ASSIGN_OR_RETURN(sums_, SumsOf(x, operands_, config_, swapped_, &layer_));
      return absl::OkStatus();
    }
    for (const int64_t side : {0, 1}) {
      const Instruction* at = x.operand(side);
      while (Rearrangement::Is(*at)) at = at->operand(0);
      if (!BeginsSums(*at)) continue;
      SMELT_RETURN_IF_ERROR(Biased(*x.operand(side)));
      return Step(x, {.op = AluOp::kAdd, .operand = lower::EpilogueOperand::kPerChannel, .imm = 0, .name = "bias"},
                  *x.operand(1 - side), -1);
    }
    return RefuseLayer(x, "adds what is neither a bias of a channel nor a rescaled residual");
  }

  absl::Status Move(const Instruction& x) {
    if (sums_->moved.Apply(x)) return absl::OkStatus();
    return RefuseLayer(x, "regroups sums as a list of places cannot say");
  }

  absl::Status Step(const Instruction& at, EpilogueStep step, const Instruction& values, int shift) {
    SMELT_RETURN_IF_ERROR(AddChannelValues(at, step.name, values, shift));
    layer_.convolution.epilogue.push_back(std::move(step));
    return absl::OkStatus();
  }

  // Values that depend on the channel alone, in the shape that the sums have by now: through broadcasts and
  // rearrangements down to a parameter or constant that lists them.
  absl::Status AddChannelValues(const Instruction& at, std::string name, const Instruction& values, int shift) {
    Rearrangement moved = sums_->moved;
    const Instruction* x = &values;
    for (;; x = x->operand(0)) {
      if (x->opcode() == Opcode::kBroadcast) {
        moved.UndoBroadcast(*x);
      } else if (!Rearrangement::Is(*x)) {
        break;
      } else if (!moved.Undo(*x)) {
        return RefuseLayer(at, "adds or multiplies by values that are regrouped");
      }
    }
    for (const int64_t dim : sums_->others()) {
      if (moved.Depends(dim)) return RefuseLayer(at, "has values along another dimension than the channels'");
    }
    SMELT_ASSIGN_OR_RETURN(const Source source, operands_.Trace(*x, &moved));
    layer_.channel_values.push_back(
        {.name = std::move(name), .source = source, .places = moved.PlacesOf(sums_->channels), .shift = shift});
    return absl::OkStatus();
  }

  lower::ActivationView ViewOf(const Rearrangement& moved) const {
    return {.images = moved.PlacesOf(sums_->images),
            .channels = moved.PlacesOf(sums_->channels),
            .height = moved.PlacesOf(sums_->height),
            .width = moved.PlacesOf(sums_->width)};
  }

  const hlo::Computation& kernel_;
  const isa::Config& config_;
  const bool swapped_;
  const Operands operands_;
  const Instruction* root_ = nullptr;
  std::optional<Sums> sums_;
  std::vector<EpilogueStep> clips_;
  Layer layer_;
};

}  // namespace

absl::StatusOr<Layer> LayerOf(const hlo::Computation& kernel, const isa::Config& config) {
  absl::StatusOr<Layer> layer = Matcher(kernel, config, /*swapped=*/false).Run();
  if (layer.ok()) return layer;
  // The values of channels may go along the rows of a product: then its left operand has the weights.
  for (const Instruction* x : kernel.Instructions()) {
    if (x->opcode() != Opcode::kDot) continue;
    absl::StatusOr<Layer> swapped = Matcher(kernel, config, /*swapped=*/true).Run();
    if (swapped.ok()) return swapped;
  }
  return layer;
}

bool PackAlike(const lower::ActivationView& written, const lower::ActivationView& read) {
  if (written.images != read.images || written.channels != read.channels) return false;
  const auto pixels = [](const lower::ActivationView& view) {
    lower::Places all;
    for (const int64_t y : view.height) {
      for (const int64_t x : view.width) all.push_back(y + x);
    }
    return all;
  };
  return pixels(written) == pixels(read);
}

}  // namespace smelt::vdla
