// Interval analysis of integer expressions.
#include "absl/container/inlined_vector.h"
#include "kernels/te/scalar.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::te {

Interval RangeOfType(PrimitiveType type) {
  if (type == PrimitiveType::kPred) return {0, 1};
  const int bits = hlo::BitWidth(type);
  if (hlo::IsSigned(type))
    return bits >= 64 ? Interval{} : Interval{-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  if (hlo::IsUnsigned(type)) return {0, bits >= 64 ? Interval::kPositiveInfinity : (int64_t{1} << bits) - 1};
  return {};
}

namespace {

bool IsInteger(const Expr& e) {
  const PrimitiveType type = e.type().element;
  return hlo::IsInteger(type) || type == PrimitiveType::kPred;
}

// What remains of a result that may have wrapped: nothing but the type's range.
Interval Unwrapped(const Interval& range, const Interval& type) {
  return range.lo >= type.lo && range.hi <= type.hi ? range : type;
}

Interval DivideRange(const Interval& a, int64_t d) {
  return {a.lo == Interval::kNegativeInfinity ? a.lo : FloorDivide(a.lo, d),
          a.hi == Interval::kPositiveInfinity ? a.hi : FloorDivide(a.hi, d)};
}

}  // namespace

Interval Simplifier::Bounds(const Expr& root) {
  if (!IsInteger(root)) return {};
  if (auto it = bounds_.find(root.get()); it != bounds_.end()) return it->second.second;
  struct Frame {
    const Expr* node;  // kept alive by what it is an operand of
    bool expanded;
  };
  const Expr top = root;
  absl::InlinedVector<Frame, 32> stack{{&top, false}};
  while (!stack.empty()) {
    const auto [node, expanded] = stack.back();
    const Expr& e = *node;
    stack.pop_back();
    if (bounds_.contains(e.get())) continue;
    if (!expanded) {
      stack.push_back({&e, true});
      if (e->kind == ExprKind::kTensorRead || e->kind == ExprKind::kLoad) continue;
      for (const Expr& child : e->operands) {
        if (IsInteger(child)) stack.push_back({&child, false});
      }
      continue;
    }
    bounds_.emplace(e.get(), std::pair(e, BoundsOfNode(e)));
  }
  return bounds_.at(root.get()).second;
}

// All integer operands have their bounds.
Interval Simplifier::BoundsOfNode(const Expr& e) {
  const Interval type = RangeOfType(e.type().element);
  const auto of = [&](int i) {
    auto it = bounds_.find(e->operands[i].get());
    return it == bounds_.end() ? Interval{} : it->second.second;
  };
  switch (e->kind) {
    case ExprKind::kInt:
      return Unwrapped(Interval::Point(e->int_value), type);
    case ExprKind::kVar: {
      auto it = ranges_.find(e.get());
      return it == ranges_.end() ? type : it->second;
    }
    case ExprKind::kCast: {
      if (!IsInteger(e->operands[0]) || e.type().element == PrimitiveType::kPred) return type;
      // From 2^63 on u64 becomes negative.
      const bool unbounded = of(0).hi == Interval::kPositiveInfinity;
      return unbounded && e->operands[0].type().element == PrimitiveType::kU64 ? type : Unwrapped(of(0), type);
    }
    case ExprKind::kSelect:
    case ExprKind::kIf:
      return Union(of(1), of(2));
    case ExprKind::kSplat:
      return of(0);
    case ExprKind::kRamp:
      return Unwrapped(of(0) + of(1) * Interval{0, e.type().lanes - 1}, type);
    case ExprKind::kUnary:
      if (e->unary() == UnaryOp::kNegate) return Unwrapped(Negate(of(0)), type);
      return type;
    case ExprKind::kBinary: {
      if (e.type().element == PrimitiveType::kPred) return type;
      const Interval a = of(0), b = of(1);
      switch (e->binary()) {
        case BinaryOp::kAdd:
          return Unwrapped(a + b, type);
        case BinaryOp::kSub:
          return Unwrapped(a - b, type);
        case BinaryOp::kMul:
          return Unwrapped(a * b, type);
        case BinaryOp::kMin:
          return Min(a, b);
        case BinaryOp::kMax:
          return Max(a, b);
        case BinaryOp::kFloorDiv:
          if (b.IsPoint() && b.lo > 0) return DivideRange(a, b.lo);
          return type;
        case BinaryOp::kFloorMod:
          if (!b.IsPoint() || b.lo <= 0) return type;
          if (a.IsFinite() && FloorDivide(a.lo, b.lo) == FloorDivide(a.hi, b.lo))
            return {FloorModulo(a.lo, b.lo), FloorModulo(a.hi, b.lo)};
          return {0, b.lo - 1};
        case BinaryOp::kRem:
          if (a.lo >= 0 && b.IsPoint() && b.lo > 0) return {0, std::min(a.hi, b.lo - 1)};
          return type;
        case BinaryOp::kDiv:
          if (a.lo >= 0 && b.IsPoint() && b.lo > 0) return DivideRange(a, b.lo);
          return type;
        default:
          return type;
      }
    }
    default:
      return type;
  }
}

Interval Simplifier::BoundsOf(const LinearSum& sum) {
  Interval range = Interval::Point(sum.constant);
  for (const auto& [atom, coefficient] : sum.terms) range = range + Bounds(atom) * Interval::Point(coefficient);
  return range;
}

}  // namespace smelt::kernels::te
