#include "hlo/quantize/multiply_shift.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/str_cat.h"
#include "hlo/rewrite/constants.h"

namespace smelt::hlo::quantize {
namespace {

constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();

// What stands under a broadcast, and its dimensions; the instruction itself, with all of them, where it is none.
const Instruction* Unbroadcast(const Instruction& x, std::vector<int64_t>* dims) {
  if (x.opcode() == Opcode::kBroadcast) {
    *dims = x.attributes<DimensionsAttributes>().dimensions;
    return x.operand(0);
  }
  dims->resize(x.shape().rank());
  for (int64_t i = 0; i < x.shape().rank(); ++i) (*dims)[i] = i;
  return &x;
}

// The value that all elements have, where they have one.
std::optional<int64_t> UniformInteger(const Instruction& x) {
  const Literal* literal = UniformLiteral(x);
  if (literal == nullptr || !IsInteger(literal->shape().element_type)) return std::nullopt;
  return literal->GetInteger(0);
}

bool Is(const Instruction& x, Opcode opcode, PrimitiveType type) {
  return x.opcode() == opcode && x.shape().element_type == type;
}

}  // namespace

absl::StatusOr<MultiplyShift> ChooseMultiplyShift(absl::Span<const double> factors) {
  double largest = 0;
  for (const double factor : factors) {
    if (!(factor >= 0) || !std::isfinite(factor))
      return absl::InvalidArgumentError(StrCat("a rescaling by ", factor, ": factors are finite and not negative"));
    largest = std::max(largest, factor);
  }
  if (largest >= 0x1p22) {
    return absl::InvalidArgumentError(
        StrCat("a rescaling by ", largest, ": a 24-bit multiplier takes factors below 2^22"));
  }
  MultiplyShift result;
  int exponent = 0;  // largest is in [2^(exponent - 1), 2^exponent)
  if (largest > 0) std::frexp(largest, &exponent);
  result.shift = std::clamp(23 - exponent, 1, kLargestShift);
  for (const double factor : factors) {
    const double scaled = std::nearbyint(std::ldexp(factor, result.shift));
    result.multipliers.push_back(static_cast<int32_t>(std::min(scaled, static_cast<double>(kMultiplierLimit - 1))));
  }
  return result;
}

int32_t ApplyMultiplyShift(int32_t x, int32_t multiplier, int shift) {
  Check(shift >= 1 && shift <= kLargestShift, "a shift beyond its range");
  const int64_t rounded = int64_t{x} * multiplier + (int64_t{1} << (shift - 1));
  return static_cast<int32_t>(std::clamp(rounded >> shift, kLowest, kHighest));
}

Instruction* AddMultiplyShift(GraphBuilder& build, Instruction* x, const MultiplyShift& rescale,
                              absl::Span<const int64_t> channel_dims, double bound) {
  const std::vector<int64_t>& dimensions = x->shape().dimensions;
  const Shape wide_shape = Shape::Array(PrimitiveType::kS64, dimensions);
  auto everywhere = [&](int64_t value) {
    Literal literal(Shape::Scalar(PrimitiveType::kS64));
    literal.SetInteger(0, value);
    return build.BroadcastScalar(build.Constant(std::move(literal)), wide_shape);
  };
  Instruction* multiplier = nullptr;
  const bool uniform = std::all_of(rescale.multipliers.begin(), rescale.multipliers.end(),
                                   [&](int32_t m) { return m == rescale.multipliers[0]; });
  if (uniform) {
    multiplier = everywhere(rescale.multipliers[0]);
  } else {
    std::vector<int64_t> sizes;
    for (const int64_t d : channel_dims) sizes.push_back(dimensions[d]);
    Literal literal(Shape::Array(PrimitiveType::kS64, sizes));
    Check(literal.element_count() == static_cast<int64_t>(rescale.multipliers.size()), "one multiplier a channel");
    for (size_t i = 0; i < rescale.multipliers.size(); ++i) literal.SetInteger(i, rescale.multipliers[i]);
    multiplier = build.Broadcast(build.Constant(std::move(literal)), dimensions,
                                 std::vector<int64_t>(channel_dims.begin(), channel_dims.end()));
  }
  Instruction* wide = build.Convert(x, PrimitiveType::kS64);
  Instruction* rounded = build.Binary(Opcode::kAdd, build.Binary(Opcode::kMultiply, wide, multiplier),
                                      everywhere(int64_t{1} << (rescale.shift - 1)));
  Instruction* shifted = build.Binary(Opcode::kShiftRightArithmetic, rounded, everywhere(rescale.shift));
  double largest = 0;
  for (const int32_t m : rescale.multipliers) largest = std::max(largest, std::fabs(static_cast<double>(m)));
  if (std::ldexp(bound * largest, -rescale.shift) + 1 > static_cast<double>(kHighest)) {
    shifted = build.Add(Opcode::kClamp, wide_shape, {everywhere(kLowest), shifted, everywhere(kHighest)});
  }
  return build.Convert(shifted, PrimitiveType::kS32);
}

std::optional<MatchedMultiplyShift> MatchMultiplyShift(const Instruction& narrow) {
  if (!Is(narrow, Opcode::kConvert, PrimitiveType::kS32)) return std::nullopt;
  MatchedMultiplyShift match;
  const Instruction* shifted = narrow.operand(0);
  if (Is(*shifted, Opcode::kClamp, PrimitiveType::kS64)) {
    if (UniformInteger(*shifted->operand(0)) != kLowest || UniformInteger(*shifted->operand(2)) != kHighest)
      return std::nullopt;
    match.interior.push_back(shifted);
    shifted = shifted->operand(1);
  }
  if (!Is(*shifted, Opcode::kShiftRightArithmetic, PrimitiveType::kS64)) return std::nullopt;
  const std::optional<int64_t> shift = UniformInteger(*shifted->operand(1));
  if (!shift || *shift < 1 || *shift > kLargestShift) return std::nullopt;
  const Instruction* rounded = shifted->operand(0);
  if (!Is(*rounded, Opcode::kAdd, PrimitiveType::kS64) ||
      UniformInteger(*rounded->operand(1)) != (int64_t{1} << (*shift - 1)))
    return std::nullopt;
  const Instruction* product = rounded->operand(0);
  if (!Is(*product, Opcode::kMultiply, PrimitiveType::kS64)) return std::nullopt;
  const Instruction* wide = product->operand(0);
  if (!Is(*wide, Opcode::kConvert, PrimitiveType::kS64)) return std::nullopt;
  const PrimitiveType from = wide->operand(0)->shape().element_type;  // s8: two conversions became one
  if (from != PrimitiveType::kS32 && from != PrimitiveType::kS8) return std::nullopt;
  match.factor = product->operand(1);
  match.multipliers = Unbroadcast(*product->operand(1), &match.channel_dims);
  if (match.multipliers->opcode() == Opcode::kConstant) {
    const Literal& multipliers = match.multipliers->literal();
    for (int64_t i = 0; i < multipliers.element_count(); ++i) {
      const int64_t m = multipliers.GetInteger(i);
      if (m < -kMultiplierLimit || m >= kMultiplierLimit) return std::nullopt;
    }
  }
  // |x * m| is at most 2^54.
  match.saturates = !match.interior.empty() || *shift >= 24 || from == PrimitiveType::kS8;
  for (const Instruction* inside : {shifted, rounded, product, wide}) match.interior.push_back(inside);
  match.x = wide->operand(0);
  match.shift = static_cast<int>(*shift);
  return match;
}

}  // namespace smelt::hlo::quantize
