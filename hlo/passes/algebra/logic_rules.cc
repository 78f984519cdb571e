#include <optional>
#include <utility>

#include "hlo/passes/algebra/ranges.h"
#include "hlo/passes/algebra/rule.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/swapped_comparison.h"

namespace smelt::hlo {
namespace {

PrimitiveType TypeOf(const Instruction& x) { return x.shape().element_type; }
bool IsPred(const Instruction& x) { return TypeOf(x) == PrimitiveType::kPred; }
bool IsWhole(const Instruction& x) { return IsPred(x) || IsInteger(TypeOf(x)); }

bool IsConstantLike(const Instruction& x) {
  return x.opcode() == Opcode::kConstant ||
         (x.opcode() == Opcode::kBroadcast && x.operand(0)->opcode() == Opcode::kConstant);
}

Instruction* ConstantToTheRight(Instruction& x, GraphBuilder& build) {
  if (!IsConstantLike(*x.operand(0)) || IsConstantLike(*x.operand(1))) return nullptr;
  return build.Binary(x.opcode(), x.operand(1), x.operand(0));
}

Instruction* Predicates(const Instruction& x, bool value, GraphBuilder& build) {
  return build.BroadcastScalar(build.Scalar(PrimitiveType::kPred, value), x.shape());
}

Instruction* SameOperands(Instruction& x, GraphBuilder&) {
  return x.operand(0) == x.operand(1) ? x.operand(0) : nullptr;
}

Instruction* AndConstant(Instruction& x, GraphBuilder&) {
  if (IsAllOnes(*x.operand(1))) return x.operand(0);
  return IsAll(*x.operand(1), 0) ? x.operand(1) : nullptr;
}

Instruction* OrConstant(Instruction& x, GraphBuilder&) {
  if (IsAll(*x.operand(1), 0)) return x.operand(0);
  return IsAllOnes(*x.operand(1)) ? x.operand(1) : nullptr;
}

Instruction* XorConstant(Instruction& x, GraphBuilder& build) {
  if (IsAll(*x.operand(1), 0)) return x.operand(0);
  if (IsAllOnes(*x.operand(1))) return build.Unary(Opcode::kNot, x.operand(0));
  return nullptr;
}

Instruction* XorSelf(Instruction& x, GraphBuilder& build) {
  if (x.operand(0) != x.operand(1)) return nullptr;
  return build.BroadcastScalar(build.Scalar(TypeOf(x), 0), x.shape());
}

Instruction* ShiftByZero(Instruction& x, GraphBuilder&) { return IsAll(*x.operand(1), 0) ? x.operand(0) : nullptr; }

Instruction* NotNot(Instruction& x, GraphBuilder&) {
  return x.operand(0)->opcode() == Opcode::kNot ? x.operand(0)->operand(0) : nullptr;
}

ComparisonDirection Opposite(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return ComparisonDirection::kNe;
    case ComparisonDirection::kNe:
      return ComparisonDirection::kEq;
    case ComparisonDirection::kGe:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kLe;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kGt;
    case ComparisonDirection::kLt:
      return ComparisonDirection::kGe;
  }
  return direction;
}

// not(a < b) -> a >= b for integers; of floats only == and != have an opposite, because of NaN.
Instruction* NotOfCompare(Instruction& x, GraphBuilder& build) {
  Instruction& compare = *x.operand(0);
  if (compare.opcode() != Opcode::kCompare || compare.user_count() > 1) return nullptr;
  CompareAttributes attributes = compare.attributes<CompareAttributes>();
  const bool equality =
      attributes.direction == ComparisonDirection::kEq || attributes.direction == ComparisonDirection::kNe;
  if (!IsWhole(*compare.operand(0)) && !equality) return nullptr;
  attributes.direction = Opposite(attributes.direction);
  return build.Compare(compare.operand(0), compare.operand(1), attributes);
}

Instruction* CompareConstantToTheRight(Instruction& x, GraphBuilder& build) {
  if (!IsConstantLike(*x.operand(0)) || IsConstantLike(*x.operand(1))) return nullptr;
  CompareAttributes attributes = x.attributes<CompareAttributes>();
  attributes.direction = Swapped(attributes.direction);
  return build.Compare(x.operand(1), x.operand(0), attributes);
}

Instruction* CompareSelf(Instruction& x, GraphBuilder& build) {
  if (x.operand(0) != x.operand(1) || !IsWhole(*x.operand(0))) return nullptr;
  const ComparisonDirection direction = x.attributes<CompareAttributes>().direction;
  return Predicates(x,
                    direction == ComparisonDirection::kEq || direction == ComparisonDirection::kGe ||
                        direction == ComparisonDirection::kLe,
                    build);
}

// The outcome that bounds of the operands leave, if only one.
std::optional<bool> Decide(ComparisonDirection direction, const IntegerRange& a, const IntegerRange& b) {
  switch (direction) {
    case ComparisonDirection::kLt:
      if (a.high < b.low) return true;
      if (a.low >= b.high) return false;
      return std::nullopt;
    case ComparisonDirection::kLe:
      if (a.high <= b.low) return true;
      if (a.low > b.high) return false;
      return std::nullopt;
    case ComparisonDirection::kGt:
    case ComparisonDirection::kGe:
      return Decide(Swapped(direction), b, a);
    case ComparisonDirection::kEq:
      if (a.high < b.low || b.high < a.low) return false;
      if (a.low == a.high && b.low == b.high) return a.low == b.low;
      return std::nullopt;
    case ComparisonDirection::kNe:
      if (const std::optional<bool> equal = Decide(ComparisonDirection::kEq, a, b)) return !*equal;
      return std::nullopt;
  }
  return std::nullopt;
}

Instruction* CompareByRange(Instruction& x, GraphBuilder& build) {
  const std::optional<IntegerRange> a = RangeOf(*x.operand(0));
  if (!a) return nullptr;
  const std::optional<IntegerRange> b = RangeOf(*x.operand(1));
  if (!b) return nullptr;
  const std::optional<bool> outcome = Decide(x.attributes<CompareAttributes>().direction, *a, *b);
  return outcome ? Predicates(x, *outcome, build) : nullptr;
}

// p != false and p == true are p; the others are its opposite.
Instruction* ComparePredicate(Instruction& x, GraphBuilder& build) {
  if (!IsPred(*x.operand(0))) return nullptr;
  const ComparisonDirection direction = x.attributes<CompareAttributes>().direction;
  const bool is_true = IsAll(*x.operand(1), 1);
  if (!is_true && !IsAll(*x.operand(1), 0)) return nullptr;
  if (direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe) {
    const bool same = (direction == ComparisonDirection::kEq) == is_true;
    return same ? x.operand(0) : build.Unary(Opcode::kNot, x.operand(0));
  }
  return nullptr;
}

// convert(p) != 0 -> p, for a predicate p made a number.
Instruction* CompareConvertedPredicate(Instruction& x, GraphBuilder& build) {
  Instruction& convert = *x.operand(0);
  if (convert.opcode() != Opcode::kConvert || !IsPred(*convert.operand(0)) || IsComplex(TypeOf(convert)))
    return nullptr;
  if (BitWidth(TypeOf(convert)) < 8) return nullptr;
  const bool one = IsAll(*x.operand(1), 1);
  if (!one && !IsAll(*x.operand(1), 0)) return nullptr;
  const ComparisonDirection direction = x.attributes<CompareAttributes>().direction;
  if (direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe) return nullptr;
  const bool same = (direction == ComparisonDirection::kEq) == one;
  return same ? convert.operand(0) : build.Unary(Opcode::kNot, convert.operand(0));
}

Instruction* SelectConstantPredicate(Instruction& x, GraphBuilder&) {
  if (IsAll(*x.operand(0), 1)) return x.operand(1);
  return IsAll(*x.operand(0), 0) ? x.operand(2) : nullptr;
}

Instruction* SelectSame(Instruction& x, GraphBuilder&) { return x.operand(1) == x.operand(2) ? x.operand(1) : nullptr; }

// select(not p, a, b) -> select(p, b, a).
Instruction* SelectNot(Instruction& x, GraphBuilder& build) {
  Instruction& predicate = *x.operand(0);
  if (predicate.opcode() != Opcode::kNot) return nullptr;
  return build.Select(predicate.operand(0), x.operand(2), x.operand(1));
}

// Choices between predicates are logic: select(p, q, false) -> p and q.
Instruction* SelectPredicates(Instruction& x, GraphBuilder& build) {
  Instruction* p = x.operand(0);
  if (!IsPred(x) || !p->shape().SameDimensions(x.shape())) return nullptr;
  const bool a_true = IsAll(*x.operand(1), 1), a_false = IsAll(*x.operand(1), 0);
  const bool b_true = IsAll(*x.operand(2), 1), b_false = IsAll(*x.operand(2), 0);
  if (a_true && b_false) return p;
  if (a_false && b_true) return build.Unary(Opcode::kNot, p);
  if (b_false) return build.Binary(Opcode::kAnd, p, x.operand(1));
  if (a_true) return build.Binary(Opcode::kOr, p, x.operand(2));
  return nullptr;
}

// A choice inside a choice of the same predicate.
Instruction* SelectNested(Instruction& x, GraphBuilder& build) {
  Instruction* on_true = x.operand(1);
  Instruction* on_false = x.operand(2);
  if (on_true->opcode() == Opcode::kSelect && on_true->operand(0) == x.operand(0)) {
    return build.Select(x.operand(0), on_true->operand(1), on_false);
  }
  if (on_false->opcode() == Opcode::kSelect && on_false->operand(0) == x.operand(0)) {
    return build.Select(x.operand(0), on_true, on_false->operand(2));
  }
  return nullptr;
}

// clamp(low, x, high) where x is known to lie within.
Instruction* ClampInRange(Instruction& x, GraphBuilder&) {
  const std::optional<IntegerRange> low = RangeOf(*x.operand(0));
  const std::optional<IntegerRange> value = RangeOf(*x.operand(1));
  const std::optional<IntegerRange> high = RangeOf(*x.operand(2));
  if (!low || !value || !high || value->low < low->high || value->high > high->low) return nullptr;
  return x.operand(1);
}

constexpr Rule kRules[] = {
    {"and-constant-right", Opcode::kAnd, ConstantToTheRight},
    {"and-self", Opcode::kAnd, SameOperands},
    {"and-constant", Opcode::kAnd, AndConstant},
    {"or-constant-right", Opcode::kOr, ConstantToTheRight},
    {"or-self", Opcode::kOr, SameOperands},
    {"or-constant", Opcode::kOr, OrConstant},
    {"xor-constant-right", Opcode::kXor, ConstantToTheRight},
    {"xor-constant", Opcode::kXor, XorConstant},
    {"xor-self", Opcode::kXor, XorSelf},
    {"shift-left-zero", Opcode::kShiftLeft, ShiftByZero},
    {"shift-right-zero", Opcode::kShiftRightLogical, ShiftByZero},
    {"shift-right-arithmetic-zero", Opcode::kShiftRightArithmetic, ShiftByZero},
    {"not-not", Opcode::kNot, NotNot},
    {"not-compare", Opcode::kNot, NotOfCompare},
    {"compare-constant-right", Opcode::kCompare, CompareConstantToTheRight},
    {"compare-self", Opcode::kCompare, CompareSelf},
    {"compare-predicate", Opcode::kCompare, ComparePredicate},
    {"compare-converted-predicate", Opcode::kCompare, CompareConvertedPredicate},
    {"compare-range", Opcode::kCompare, CompareByRange},
    {"select-constant", Opcode::kSelect, SelectConstantPredicate},
    {"select-same", Opcode::kSelect, SelectSame},
    {"select-not", Opcode::kSelect, SelectNot},
    {"select-predicates", Opcode::kSelect, SelectPredicates},
    {"select-nested", Opcode::kSelect, SelectNested},
    {"clamp-range", Opcode::kClamp, ClampInRange},
};

}  // namespace

absl::Span<const Rule> LogicRules() { return kRules; }

}  // namespace smelt::hlo
