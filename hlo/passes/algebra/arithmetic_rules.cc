#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "hlo/passes/algebra/ranges.h"
#include "hlo/passes/algebra/rule.h"
#include "hlo/rewrite/constants.h"

namespace smelt::hlo {
namespace {

PrimitiveType TypeOf(const Instruction& x) { return x.shape().element_type; }
bool IsWhole(const Instruction& x) { return IsInteger(TypeOf(x)) || TypeOf(x) == PrimitiveType::kPred; }

// A constant, possibly broadcast: what stands on the right after canonicalisation.
bool IsConstantLike(const Instruction& x) {
  return x.opcode() == Opcode::kConstant ||
         (x.opcode() == Opcode::kBroadcast && x.operand(0)->opcode() == Opcode::kConstant);
}

// c op x -> x op c, so that other rules look at the right only and common subexpressions meet.
Instruction* ConstantToTheRight(Instruction& x, GraphBuilder& build) {
  // Where two complex numbers have one real part the first one is the larger and the smaller one.
  const bool extreme = x.opcode() == Opcode::kMaximum || x.opcode() == Opcode::kMinimum;
  if (extreme && IsComplex(x.shape().element_type)) return nullptr;
  if (!IsConstantLike(*x.operand(0)) || IsConstantLike(*x.operand(1))) return nullptr;
  return build.Binary(x.opcode(), x.operand(1), x.operand(0));
}

// x + 0 changes -0.0 into +0.0: it goes where x is never -0.0. x + -0.0 is x for every float.
Instruction* AddZero(Instruction& x, GraphBuilder&) {
  Instruction* lhs = x.operand(0);
  Instruction* rhs = x.operand(1);
  if (IsAllNegativeZero(*rhs)) return lhs;
  if (IsAllPositiveZero(*rhs) && (IsWhole(x) || IsNeverNegativeZero(*lhs))) return lhs;
  return nullptr;
}

Instruction* AddNegated(Instruction& x, GraphBuilder& build) {
  Instruction* lhs = x.operand(0);
  Instruction* rhs = x.operand(1);
  if (rhs->opcode() == Opcode::kNegate) return build.Binary(Opcode::kSubtract, lhs, rhs->operand(0));
  if (lhs->opcode() == Opcode::kNegate) return build.Binary(Opcode::kSubtract, rhs, lhs->operand(0));
  return nullptr;
}

// (x op c1) op c2 -> x op (c1 op c2): integers only, which wrap.
Instruction* JoinIntegerConstants(Instruction& x, GraphBuilder& build) {
  Instruction* inner = x.operand(0);
  if (!IsInteger(TypeOf(x)) || inner->opcode() != x.opcode()) return nullptr;
  const Literal* c1 = UniformLiteral(*inner->operand(1));
  const Literal* c2 = UniformLiteral(*x.operand(1));
  if (c1 == nullptr || c2 == nullptr) return nullptr;
  const uint64_t a = static_cast<uint64_t>(c1->GetInteger(0));
  const uint64_t b = static_cast<uint64_t>(c2->GetInteger(0));
  Literal joined(Shape::Scalar(TypeOf(x)));
  joined.SetInteger(0, static_cast<int64_t>(x.opcode() == Opcode::kAdd ? a + b : a * b));
  return build.Binary(x.opcode(), inner->operand(0),
                      build.BroadcastScalar(build.Constant(std::move(joined)), x.shape()));
}

Instruction* SubtractZero(Instruction& x, GraphBuilder&) {
  return IsAllPositiveZero(*x.operand(1)) ? x.operand(0) : nullptr;  // -0.0 - 0.0 is -0.0
}

Instruction* SubtractSelf(Instruction& x, GraphBuilder& build) {
  if (!IsInteger(TypeOf(x)) || x.operand(0) != x.operand(1)) return nullptr;
  return build.BroadcastScalar(build.Scalar(TypeOf(x), 0), x.shape());
}

Instruction* SubtractNegated(Instruction& x, GraphBuilder& build) {
  if (x.operand(1)->opcode() != Opcode::kNegate) return nullptr;
  return build.Binary(Opcode::kAdd, x.operand(0), x.operand(1)->operand(0));
}

// x - c -> x + (-c) for integers: one form for both, where constants are joined.
Instruction* SubtractConstant(Instruction& x, GraphBuilder& build) {
  const Literal* c = UniformLiteral(*x.operand(1));
  if (c == nullptr || IsConstantLike(*x.operand(0)) || !IsInteger(TypeOf(x)) || !IsConstantLike(*x.operand(1))) {
    return nullptr;
  }
  Literal negated(Shape::Scalar(TypeOf(x)));
  negated.SetInteger(0, static_cast<int64_t>(-static_cast<uint64_t>(c->GetInteger(0))));
  return build.Binary(Opcode::kAdd, x.operand(0), build.BroadcastScalar(build.Constant(std::move(negated)), x.shape()));
}

Instruction* MultiplyOne(Instruction& x, GraphBuilder&) { return IsAll(*x.operand(1), 1) ? x.operand(0) : nullptr; }

Instruction* MultiplyZero(Instruction& x, GraphBuilder&) {
  return IsInteger(TypeOf(x)) && IsAll(*x.operand(1), 0) ? x.operand(1) : nullptr;
}

// Sums of products with nothing but zeros.
Instruction* ContractionOfZeros(Instruction& x, GraphBuilder& build) {
  if (!IsInteger(TypeOf(x)) || (!IsAll(*x.operand(0), 0) && !IsAll(*x.operand(1), 0))) return nullptr;
  return build.BroadcastScalar(build.Scalar(TypeOf(x), 0), x.shape());
}

Instruction* TimesMinusOne(Instruction& x, GraphBuilder& build) {
  if (IsComplex(TypeOf(x)) || !IsAll(*x.operand(1), -1)) return nullptr;
  return build.Unary(Opcode::kNegate, x.operand(0));
}

// (-a) op (-b) -> a op b, for multiply and divide.
Instruction* DropBothSigns(Instruction& x, GraphBuilder& build) {
  Instruction* lhs = x.operand(0);
  Instruction* rhs = x.operand(1);
  if (IsComplex(TypeOf(x)) || lhs->opcode() != Opcode::kNegate || rhs->opcode() != Opcode::kNegate) return nullptr;
  if (x.opcode() == Opcode::kDivide && !IsFloat(TypeOf(x)))
    return nullptr;  // the most negative integer has no negative
  return build.Binary(x.opcode(), lhs->operand(0), rhs->operand(0));
}

// |a| * |a| -> a * a.
Instruction* SquareOfAbs(Instruction& x, GraphBuilder& build) {
  Instruction* lhs = x.operand(0);
  if (lhs != x.operand(1) || lhs->opcode() != Opcode::kAbs || IsComplex(TypeOf(*lhs->operand(0)))) return nullptr;
  return build.Binary(Opcode::kMultiply, lhs->operand(0), lhs->operand(0));
}

std::optional<int> ExponentOfPowerOfTwo(const Literal& c) {
  const double value = c.GetDouble(0);
  int exponent = 0;
  if (!std::isfinite(value) || std::abs(std::frexp(value, &exponent)) != 0.5) return std::nullopt;
  return exponent - 1;
}

// The smallest exponent of a normal number in the types that programs divide in; 0 for others.
int MinimumExponent(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16:
      return -14;
    case PrimitiveType::kBF16:
    case PrimitiveType::kF32:
      return -126;
    case PrimitiveType::kF64:
      return -1022;
    default:
      return 0;
  }
}

Instruction* DivideByOne(Instruction& x, GraphBuilder&) { return IsAll(*x.operand(1), 1) ? x.operand(0) : nullptr; }

Instruction* DivideByMinusOne(Instruction& x, GraphBuilder& build) {
  if (!IsFloat(TypeOf(x)) || !IsAll(*x.operand(1), -1)) return nullptr;
  return build.Unary(Opcode::kNegate, x.operand(0));
}

// x / 2^k -> x * 2^-k, where both are normal numbers: the same rounding, a multiplication instead of a division.
Instruction* DivideByPowerOfTwo(Instruction& x, GraphBuilder& build) {
  const Literal* c = UniformLiteral(*x.operand(1));
  const int minimum = MinimumExponent(TypeOf(x));
  if (c == nullptr || minimum == 0) return nullptr;
  const std::optional<int> exponent = ExponentOfPowerOfTwo(*c);
  if (!exponent || *exponent < minimum || -*exponent < minimum) return nullptr;
  return build.Binary(Opcode::kMultiply, x.operand(0),
                      build.BroadcastScalar(build.Scalar(TypeOf(x), 1 / c->GetDouble(0)), x.shape()));
}

// Unsigned only: a signed quotient rounds toward zero, a shift rounds down.
Instruction* UnsignedDivideByPowerOfTwo(Instruction& x, GraphBuilder& build) {
  const Literal* c = UniformLiteral(*x.operand(1));
  if (c == nullptr || !IsUnsigned(TypeOf(x))) return nullptr;
  const uint64_t value = static_cast<uint64_t>(c->GetInteger(0));
  if (value == 0 || (value & (value - 1)) != 0) return nullptr;
  const double shift = std::countr_zero(value);
  return build.Binary(Opcode::kShiftRightLogical, x.operand(0),
                      build.BroadcastScalar(build.Scalar(TypeOf(x), shift), x.shape()));
}

Instruction* UnsignedRemainderOfPowerOfTwo(Instruction& x, GraphBuilder& build) {
  const Literal* c = UniformLiteral(*x.operand(1));
  if (c == nullptr || !IsUnsigned(TypeOf(x))) return nullptr;
  const uint64_t value = static_cast<uint64_t>(c->GetInteger(0));
  if (value == 0 || (value & (value - 1)) != 0) return nullptr;
  Literal mask(Shape::Scalar(TypeOf(x)));
  mask.SetInteger(0, static_cast<int64_t>(value - 1));
  return build.Binary(Opcode::kAnd, x.operand(0), build.BroadcastScalar(build.Constant(std::move(mask)), x.shape()));
}

// Powers with small constant exponents become products: -1, 0, 1, 2, 3.
Instruction* PowerOfConstant(Instruction& x, GraphBuilder& build) {
  Instruction* base = x.operand(0);
  const PrimitiveType type = TypeOf(x);
  if (UniformLiteral(*x.operand(1)) == nullptr || IsComplex(type)) return nullptr;
  auto ones = [&] { return build.BroadcastScalar(build.Scalar(type, 1), x.shape()); };
  if (IsAll(*x.operand(1), 0)) return ones();
  if (IsAll(*x.operand(1), 1)) return base;
  if (IsAll(*x.operand(1), 2)) return build.Binary(Opcode::kMultiply, base, base);
  if (IsAll(*x.operand(1), 3)) {
    return build.Binary(Opcode::kMultiply, build.Binary(Opcode::kMultiply, base, base), base);
  }
  if (IsFloat(type) && IsAll(*x.operand(1), -1)) return build.Binary(Opcode::kDivide, ones(), base);
  return nullptr;
}

Instruction* DoubleNegation(Instruction& x, GraphBuilder&) {
  return x.operand(0)->opcode() == Opcode::kNegate ? x.operand(0)->operand(0) : nullptr;
}

// |x| of what is never negative; |-x| and ||x||.
Instruction* AbsOfNonNegative(Instruction& x, GraphBuilder&) {
  const Instruction& a = *x.operand(0);
  if (IsUnsigned(TypeOf(x))) return x.operand(0);
  if (a.opcode() == Opcode::kAbs && !IsComplex(TypeOf(*a.operand(0)))) return x.operand(0);
  if (IsFloat(TypeOf(x)) && a.opcode() == Opcode::kMultiply && a.operand(0) == a.operand(1)) return x.operand(0);
  return nullptr;
}

Instruction* AbsOfNegated(Instruction& x, GraphBuilder& build) {
  Instruction& a = *x.operand(0);
  if (a.opcode() != Opcode::kNegate || IsComplex(TypeOf(a))) return nullptr;
  return build.Unary(Opcode::kAbs, a.operand(0));
}

// max(x, x), min(x, x).
Instruction* ExtremeOfSelf(Instruction& x, GraphBuilder&) {
  return x.operand(0) == x.operand(1) ? x.operand(0) : nullptr;
}

Instruction* MaximumWithLowest(Instruction& x, GraphBuilder&) {
  return IsAllLowest(*x.operand(1)) ? x.operand(0) : nullptr;
}

Instruction* MinimumWithHighest(Instruction& x, GraphBuilder&) {
  return IsAllHighest(*x.operand(1)) ? x.operand(0) : nullptr;
}

// Two integers whose ranges do not overlap.
Instruction* ExtremeByRange(Instruction& x, GraphBuilder&) {
  const std::optional<IntegerRange> a = RangeOf(*x.operand(0));
  const std::optional<IntegerRange> b = RangeOf(*x.operand(1));
  if (!a || !b) return nullptr;
  const bool maximum = x.opcode() == Opcode::kMaximum;
  if (a->low >= b->high) return x.operand(maximum ? 0 : 1);
  if (b->low >= a->high) return x.operand(maximum ? 1 : 0);
  return nullptr;
}

// An operation on scalars that were broadcast is done once, before the broadcast.
bool IsScalarBroadcast(const Instruction& x) {
  return x.opcode() == Opcode::kBroadcast && x.operand(0)->shape().IsScalar();
}

Instruction* OperateOnScalars(Instruction& x, GraphBuilder& build) {
  if (x.shape().IsScalar()) return nullptr;
  std::vector<Instruction*> scalars;
  for (Instruction* operand : x.operands()) {
    if (operand->shape().IsScalar()) {  // a scalar predicate or clamp bound
      scalars.push_back(operand);
    } else if (IsScalarBroadcast(*operand)) {
      scalars.push_back(operand->operand(0));
    } else {
      return nullptr;
    }
  }
  Instruction* scalar = build.Add(x.opcode(), Shape::Scalar(TypeOf(x)), std::move(scalars), x.all_attributes());
  scalar->raw_attributes() = x.raw_attributes();
  return build.BroadcastScalar(scalar, x.shape());
}

constexpr Rule kRules[] = {
    {"add-constant-right", Opcode::kAdd, ConstantToTheRight},
    {"add-zero", Opcode::kAdd, AddZero},
    {"add-negated", Opcode::kAdd, AddNegated},
    {"add-constants", Opcode::kAdd, JoinIntegerConstants},
    {"subtract-zero", Opcode::kSubtract, SubtractZero},
    {"subtract-self", Opcode::kSubtract, SubtractSelf},
    {"subtract-negated", Opcode::kSubtract, SubtractNegated},
    {"subtract-constant", Opcode::kSubtract, SubtractConstant},
    {"multiply-constant-right", Opcode::kMultiply, ConstantToTheRight},
    {"multiply-one", Opcode::kMultiply, MultiplyOne},
    {"multiply-zero", Opcode::kMultiply, MultiplyZero},
    {"dot-zeros", Opcode::kDot, ContractionOfZeros},
    {"convolution-zeros", Opcode::kConvolution, ContractionOfZeros},
    {"multiply-minus-one", Opcode::kMultiply, TimesMinusOne},
    {"multiply-constants", Opcode::kMultiply, JoinIntegerConstants},
    {"multiply-signs", Opcode::kMultiply, DropBothSigns},
    {"multiply-abs", Opcode::kMultiply, SquareOfAbs},
    {"divide-one", Opcode::kDivide, DivideByOne},
    {"divide-minus-one", Opcode::kDivide, DivideByMinusOne},
    {"divide-signs", Opcode::kDivide, DropBothSigns},
    {"divide-power-of-two", Opcode::kDivide, DivideByPowerOfTwo},
    {"divide-unsigned", Opcode::kDivide, UnsignedDivideByPowerOfTwo},
    {"remainder-unsigned", Opcode::kRemainder, UnsignedRemainderOfPowerOfTwo},
    {"power-constant", Opcode::kPower, PowerOfConstant},
    {"negate-twice", Opcode::kNegate, DoubleNegation},
    {"abs-non-negative", Opcode::kAbs, AbsOfNonNegative},
    {"abs-negated", Opcode::kAbs, AbsOfNegated},
    {"maximum-constant-right", Opcode::kMaximum, ConstantToTheRight},
    {"maximum-self", Opcode::kMaximum, ExtremeOfSelf},
    {"maximum-lowest", Opcode::kMaximum, MaximumWithLowest},
    {"maximum-range", Opcode::kMaximum, ExtremeByRange},
    {"minimum-constant-right", Opcode::kMinimum, ConstantToTheRight},
    {"minimum-self", Opcode::kMinimum, ExtremeOfSelf},
    {"minimum-highest", Opcode::kMinimum, MinimumWithHighest},
    {"minimum-range", Opcode::kMinimum, ExtremeByRange},
};

// The scalar rule holds for every elementwise opcode: one line for each is added to the table.
std::vector<Rule> AllArithmeticRules() {
  std::vector<Rule> rules(std::begin(kRules), std::end(kRules));
  for (int i = 0; i < kOpcodeCount; ++i) {
    const Opcode opcode = static_cast<Opcode>(i);
    if (!IsElementwise(opcode) || opcode == Opcode::kCopy || opcode == Opcode::kStochasticConvert) continue;
    rules.push_back({"scalar-operands", opcode, OperateOnScalars});
  }
  return rules;
}

}  // namespace

absl::Span<const Rule> ArithmeticRules() {
  static const auto* const rules = new std::vector<Rule>(AllArithmeticRules());
  return *rules;
}

}  // namespace smelt::hlo
