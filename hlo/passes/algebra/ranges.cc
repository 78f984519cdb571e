#include "hlo/passes/algebra/ranges.h"

#include <algorithm>
#include <cmath>

#include "hlo/literal.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

constexpr int kDepth = 6;
constexpr int64_t kLargestConstant = 4096;  // elements that are looked at one by one

using Wide = __int128;

// The range of what the type can hold; u64 has none in 64 signed bits.
std::optional<IntegerRange> TypeRange(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return IntegerRange{0, 1};
  if (!IsInteger(type)) return std::nullopt;
  const int bits = BitWidth(type);
  if (IsSigned(type)) return IntegerRange{INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits)};
  if (bits == 64) return std::nullopt;
  return IntegerRange{0, static_cast<int64_t>((uint64_t{1} << bits) - 1)};
}

// The bounds where they fit the type; arithmetic that might wrap is not known.
std::optional<IntegerRange> Fit(Wide low, Wide high, PrimitiveType type) {
  std::optional<IntegerRange> limits = TypeRange(type);
  if (!limits && type == PrimitiveType::kU64) limits = IntegerRange{0, INT64_MAX};
  if (!limits || low < limits->low || high > limits->high) return std::nullopt;
  return IntegerRange{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

std::optional<IntegerRange> RangeOfConstant(const Instruction& x) {
  const Literal* literal = KnownLiteral(x);
  if (literal == nullptr || literal->element_count() == 0 || literal->element_count() > kLargestConstant) {
    return std::nullopt;
  }
  IntegerRange range{literal->GetInteger(0), literal->GetInteger(0)};
  for (int64_t i = 1; i < literal->element_count(); ++i) {
    range.low = std::min(range.low, literal->GetInteger(i));
    range.high = std::max(range.high, literal->GetInteger(i));
  }
  if (x.shape().element_type == PrimitiveType::kU64 && range.low < 0) return std::nullopt;
  return range;
}

std::optional<IntegerRange> Range(const Instruction& x, int depth);

std::optional<IntegerRange> RangeOfBinary(const Instruction& x, int depth) {
  const std::optional<IntegerRange> a = Range(*x.operand(0), depth);
  if (!a) return std::nullopt;
  const std::optional<IntegerRange> b = Range(*x.operand(1), depth);
  if (!b) return std::nullopt;
  const PrimitiveType type = x.shape().element_type;
  switch (x.opcode()) {
    case Opcode::kAdd:
      return Fit(Wide{a->low} + b->low, Wide{a->high} + b->high, type);
    case Opcode::kSubtract:
      return Fit(Wide{a->low} - b->high, Wide{a->high} - b->low, type);
    case Opcode::kMultiply: {
      const Wide products[] = {Wide{a->low} * b->low, Wide{a->low} * b->high, Wide{a->high} * b->low,
                               Wide{a->high} * b->high};
      return Fit(*std::min_element(products, products + 4), *std::max_element(products, products + 4), type);
    }
    case Opcode::kMaximum:
      return IntegerRange{std::max(a->low, b->low), std::max(a->high, b->high)};
    case Opcode::kMinimum:
      return IntegerRange{std::min(a->low, b->low), std::min(a->high, b->high)};
    case Opcode::kDivide:
      if (a->low < 0 || b->low <= 0) return std::nullopt;
      return IntegerRange{a->low / b->high, a->high / b->low};
    case Opcode::kRemainder:
      if (a->low < 0 || b->low <= 0) return std::nullopt;
      return IntegerRange{0, std::min(a->high, b->high - 1)};
    case Opcode::kAnd:
      if (a->low < 0 || b->low < 0) return std::nullopt;
      return IntegerRange{0, std::min(a->high, b->high)};
    default:
      return std::nullopt;
  }
}

std::optional<IntegerRange> RangeUnchecked(const Instruction& x, int depth) {
  const PrimitiveType type = x.shape().element_type;
  switch (x.opcode()) {
    case Opcode::kConstant:
      return RangeOfConstant(x);
    case Opcode::kIota: {
      const int64_t size = x.shape().dimensions[x.attributes<IotaAttributes>().dimension];
      return Fit(0, std::max<int64_t>(size - 1, 0), type);
    }
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kCopy:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:  // indices outside of the operand are clamped into it
      return Range(*x.operand(0), depth - 1);
    case Opcode::kConvert: {
      const std::optional<IntegerRange> from = Range(*x.operand(0), depth - 1);
      return from ? Fit(from->low, from->high, type) : std::nullopt;
    }
    case Opcode::kSelect: {
      const std::optional<IntegerRange> a = Range(*x.operand(1), depth - 1);
      const std::optional<IntegerRange> b = Range(*x.operand(2), depth - 1);
      if (!a || !b) return std::nullopt;
      return IntegerRange{std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    case Opcode::kConcatenate: {
      if (x.operand_count() > 4) return std::nullopt;
      std::optional<IntegerRange> all = Range(*x.operand(0), depth - 1);
      for (const Instruction* operand : x.operands()) {
        const std::optional<IntegerRange> part = Range(*operand, depth - 1);
        if (!all || !part) return std::nullopt;
        all = IntegerRange{std::min(all->low, part->low), std::max(all->high, part->high)};
      }
      return all;
    }
    case Opcode::kClamp: {
      const std::optional<IntegerRange> low = Range(*x.operand(0), depth - 1);
      const std::optional<IntegerRange> high = Range(*x.operand(2), depth - 1);
      if (!low || !high) return std::nullopt;
      return IntegerRange{std::min(low->low, high->low), high->high};
    }
    default:
      if (x.operand_count() == 2 && IsElementwise(x.opcode())) return RangeOfBinary(x, depth - 1);
      return std::nullopt;
  }
}

std::optional<IntegerRange> Range(const Instruction& x, int depth) {
  const std::optional<IntegerRange> limits = TypeRange(x.shape().element_type);
  if (!limits && x.shape().element_type != PrimitiveType::kU64) return std::nullopt;
  std::optional<IntegerRange> known;
  if (depth > 0) known = RangeUnchecked(x, depth);
  return known ? known : limits;
}

bool NeverNegativeZero(const Instruction& x, int depth) {
  if (!IsFloat(x.shape().element_type))
    return IsArrayType(x.shape().element_type) && !IsComplex(x.shape().element_type);
  if (depth == 0) return false;
  switch (x.opcode()) {
    case Opcode::kConstant: {
      const Literal* uniform = UniformLiteral(x);
      return uniform != nullptr && !(uniform->GetDouble(0) == 0 && std::signbit(uniform->GetDouble(0)));
    }
    case Opcode::kAbs:
    case Opcode::kExp:
    case Opcode::kLogistic:
    case Opcode::kCosh:
    case Opcode::kIota:
      return true;
    case Opcode::kMultiply:
      if (x.operand(0) == x.operand(1)) return true;
      return false;
    case Opcode::kAdd:  // -0.0 only from two of them
      return NeverNegativeZero(*x.operand(0), depth - 1) || NeverNegativeZero(*x.operand(1), depth - 1);
    case Opcode::kSelect:
      return NeverNegativeZero(*x.operand(1), depth - 1) && NeverNegativeZero(*x.operand(2), depth - 1);
    case Opcode::kConvert:  // a narrower float rounds small negative numbers to -0.0
      return IsLosslessConversion(x.operand(0)->shape().element_type, x.shape().element_type)
                 ? NeverNegativeZero(*x.operand(0), depth - 1)
                 : !IsFloat(x.operand(0)->shape().element_type);
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kReverse:
      return NeverNegativeZero(*x.operand(0), depth - 1);
    case Opcode::kReduce:  // a sum that starts with +0.0
      return x.operand_count() == 2 && IsAllPositiveZero(*x.operand(1)) &&
             BinaryOperation(*x.called(0)) == Opcode::kAdd;
    default:
      return false;
  }
}

// Mantissa bits with the hidden one, and the exponents of the smallest (subnormal) and the largest number.
struct FloatLimits {
  int precision;
  int least_exponent;
  int greatest_exponent;
};

std::optional<FloatLimits> LimitsOf(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16:
      return FloatLimits{11, -24, 15};
    case PrimitiveType::kBF16:
      return FloatLimits{8, -133, 127};
    case PrimitiveType::kF32:
      return FloatLimits{24, -149, 127};
    case PrimitiveType::kF64:
      return FloatLimits{53, -1074, 1023};
    default:
      return std::nullopt;
  }
}

}  // namespace

bool IsLosslessConversion(PrimitiveType from, PrimitiveType to) {
  if (from == to) return true;
  if (from == PrimitiveType::kPred) return IsInteger(to) ? BitWidth(to) > 1 : LimitsOf(to) || IsComplex(to);
  if (IsInteger(from)) {
    const int magnitude = BitWidth(from) - (IsSigned(from) ? 1 : 0);
    if (IsInteger(to)) {
      return (IsSigned(to) || !IsSigned(from)) && BitWidth(to) - (IsSigned(to) ? 1 : 0) >= magnitude;
    }
    const std::optional<FloatLimits> limits = LimitsOf(to);
    return limits && limits->precision >= magnitude && limits->greatest_exponent >= magnitude;
  }
  const std::optional<FloatLimits> narrow = LimitsOf(from);
  const std::optional<FloatLimits> wide = LimitsOf(to);
  return narrow && wide && narrow->precision <= wide->precision && narrow->least_exponent >= wide->least_exponent &&
         narrow->greatest_exponent <= wide->greatest_exponent;
}

std::optional<IntegerRange> RangeOf(const Instruction& x) { return Range(x, kDepth); }
bool IsNeverNegativeZero(const Instruction& x) { return NeverNegativeZero(x, 4); }

}  // namespace smelt::hlo
