#include "kernels/te/simplify/simplifier.h"

#include <algorithm>
#include <numeric>

#include "absl/container/inlined_vector.h"
#include "base/check.h"
#include "kernels/te/intern.h"
#include "kernels/te/scalar.h"
#include "kernels/te/simplify/rules.h"

namespace smelt::kernels::te {
namespace {

bool IsIndex(const Expr& e) { return e.type() == kIndex; }

// Operations on narrower integers that PositionOf looks through: `(i + 3) * 2` has two.
constexpr int kPositionDepth = 8;

CompareOp Swapped(CompareOp op) {
  constexpr CompareOp kSwapped[] = {CompareOp::kEq, CompareOp::kNe, CompareOp::kGt,
                                    CompareOp::kGe, CompareOp::kLt, CompareOp::kLe};
  return kSwapped[static_cast<int>(op)];
}

// -1: never, 1: always, 0: unknown, for `difference op 0`.
int Decide(CompareOp op, const Interval& difference) {
  const bool negative = difference.hi<0, positive = difference.lo> 0;
  const bool not_negative = difference.lo >= 0, not_positive = difference.hi <= 0;
  const bool zero = difference.lo == 0 && difference.hi == 0;
  switch (op) {
    case CompareOp::kLt:
      return negative ? 1 : not_negative ? -1 : 0;
    case CompareOp::kLe:
      return not_positive ? 1 : positive ? -1 : 0;
    case CompareOp::kGt:
      return positive ? 1 : not_positive ? -1 : 0;
    case CompareOp::kGe:
      return not_negative ? 1 : negative ? -1 : 0;
    case CompareOp::kEq:
      return zero ? 1 : negative || positive ? -1 : 0;
    case CompareOp::kNe:
      return zero ? -1 : negative || positive ? 1 : 0;
  }
  return 0;
}

// A narrower integer that is the low bits of an index expression: its source; or a constant. Null otherwise.
Expr LowBitsOf(const Expr& e) {
  if (e->kind == ExprKind::kCast && IsIndex(e->operands[0])) return e->operands[0];
  if (e->kind == ExprKind::kInt) return Expr(e->int_value);
  return Expr();
}

}  // namespace

void Simplifier::Bind(const Expr& var, Interval range) {
  Check(var->kind == ExprKind::kVar, "range of something that is no variable");
  ranges_[var.get()] = range;
  bounds_[var.get()] = {var, range};
}

Expr Simplifier::Simplify(const Expr& root) {
  if (!root) return root;
  if (const auto known = simplified_.find(root.get()); known != simplified_.end()) return known->second.result;
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
    if (simplified_.contains(e.get())) continue;
    if (!expanded) {
      if (e->operands.empty() && !e->predicate && e->init.empty() && e->kind != ExprKind::kVar) {
        simplified_.emplace(e.get(), Entry{e, e});
        continue;
      }
      if (e->kind == ExprKind::kVar) {
        const auto range = ranges_.find(e.get());
        const bool constant = IsIndex(e) && range != ranges_.end() && range->second.IsPoint();
        Expr result = constant ? Expr(range->second.lo) : e;
        simplified_.emplace(e.get(), Entry{e, std::move(result)});
        continue;
      }
      stack.push_back({&e, true});
      for (const Expr& child : e->operands) stack.push_back({&child, false});
      for (const Expr& child : e->init) stack.push_back({&child, false});
      if (e->predicate) stack.push_back({&e->predicate, false});
      continue;
    }
    std::vector<Expr> operands, init;
    operands.reserve(e->operands.size());
    for (const Expr& child : e->operands) operands.push_back(simplified_.at(child.get()).result);
    for (const Expr& child : e->init) init.push_back(simplified_.at(child.get()).result);
    Expr predicate = e->predicate ? simplified_.at(e->predicate.get()).result : Expr();
    Expr result = SimplifyNode(e, std::move(operands), std::move(predicate), std::move(init));
    // Simplifying the result again must give the result.
    if (!result.Same(e)) simplified_.emplace(result.get(), Entry{result, result});
    simplified_.emplace(e.get(), Entry{e, std::move(result)});
  }
  return simplified_.at(root.get()).result;
}

Expr Simplifier::SimplifyNode(const Expr& e, std::vector<Expr> operands, Expr predicate, std::vector<Expr> init) {
  switch (e->kind) {
    case ExprKind::kBinary: {
      const Expr &a = operands[0], &b = operands[1];
      if (IsIndex(a)) return SimplifyBinary(e->binary(), a, b);
      if (e.type() == kBool && e->binary() == BinaryOp::kAnd) return SimplifyAnd(a, b);
      if (e.type().lanes > 1 && e.type().element == PrimitiveType::kS64) return SimplifyMixed(e->binary(), a, b);
      // Low bits of sums and products are sums and products of low bits.
      const BinaryOp op = e->binary();
      if (e.type().lanes == 1 && (op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul) &&
          hlo::IsInteger(e.type().element)) {
        const Expr low_a = LowBitsOf(a), low_b = LowBitsOf(b);
        if (low_a.get() != nullptr && low_b.get() != nullptr &&
            (a->kind == ExprKind::kCast || b->kind == ExprKind::kCast))
          return Cast(e.type(), SimplifyBinary(op, low_a, low_b));
      }
      break;
    }
    case ExprKind::kCompare:
      return SimplifyCompare(e->compare(), operands[0], operands[1]);
    case ExprKind::kUnary:
      if (e->unary() == UnaryOp::kNegate && IsIndex(operands[0]))
        return SimplifyBinary(BinaryOp::kSub, Expr(0), operands[0]);
      break;
    case ExprKind::kCast:
      if (IsIndex(e)) {
        if (Expr position = PositionOf(operands[0], kPositionDepth)) return position;
      }
      break;
    case ExprKind::kSelect:
    case ExprKind::kIf:
      if (IsIndex(operands[1])) {
        if (Expr better = ApplyRules(e->kind, 0, operands)) return better;
      }
      break;
    default:
      break;
  }
  return Remake(*e, std::move(operands), std::move(predicate), std::move(init));
}

bool Simplifier::Fits(const Expr& index, PrimitiveType type) {
  const Interval range = Bounds(index), whole = RangeOfType(type);
  return type != PrimitiveType::kU64 && range.lo >= whole.lo && range.hi <= whole.hi;
}

Expr Simplifier::PositionOf(const Expr& narrow, int depth) {
  const PrimitiveType type = narrow.type().element;
  if (const Expr low = LowBitsOf(narrow)) return hlo::IsInteger(type) && Fits(low, type) ? low : Expr();
  if (narrow->kind != ExprKind::kBinary || !hlo::IsInteger(type) || depth == 0) return Expr();
  const Expr a = PositionOf(narrow->operands[0], depth - 1);
  const Expr b = a ? PositionOf(narrow->operands[1], depth - 1) : Expr();
  if (!b) return Expr();
  switch (narrow->binary()) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul: {
      Expr result = SimplifyBinary(narrow->binary(), a, b);
      return Fits(result, type) ? result : Expr();
    }
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return SimplifyMinMax(narrow->binary(), a, b);
    case BinaryOp::kDiv:  // towards zero
    case BinaryOp::kRem: {
      int64_t divisor;
      if (!IsConstInt(b, &divisor) || divisor <= 0 || Bounds(a).lo < 0) return Expr();
      return narrow->binary() == BinaryOp::kDiv ? Divide(a, divisor) : Modulo(a, divisor);
    }
    default:
      return Expr();
  }
}

Expr Simplifier::SimplifyBinary(BinaryOp op, const Expr& a, const Expr& b) {
  int64_t constant;
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: {
      const auto x = ToLinear(a), y = ToLinear(b);
      if (x && y) {
        if (auto sum = AddScaled(*x, *y, op == BinaryOp::kAdd ? 1 : -1)) return SumOf(std::move(*sum));
      }
      break;
    }
    case BinaryOp::kMul: {
      const bool right = IsConstInt(b, &constant);
      if (right || IsConstInt(a, &constant)) {
        const auto x = ToLinear(right ? a : b);
        const auto product = x ? AddScaled({}, *x, constant) : std::nullopt;
        if (product) return SumOf(*product);
      }
      break;
    }
    case BinaryOp::kFloorDiv:
      if (IsConstInt(b, &constant) && constant > 0) return Divide(a, constant);
      break;
    case BinaryOp::kFloorMod:
      if (IsConstInt(b, &constant) && constant > 0) return Modulo(a, constant);
      break;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return SimplifyMinMax(op, a, b);
    default:
      break;
  }
  return Binary(op, a, b);
}

Expr Simplifier::SimplifyMinMax(BinaryOp op, const Expr& a, const Expr& b) {
  const bool min = op == BinaryOp::kMin;
  const Interval range_a = Bounds(a), range_b = Bounds(b);
  if (range_a.hi <= range_b.lo) return min ? a : b;
  if (range_b.hi <= range_a.lo) return min ? b : a;
  if (range_a.IsFinite() && range_b.IsFinite()) {
    const auto x = ToLinear(a), y = ToLinear(b);
    const auto difference = x && y ? AddScaled(*x, *y, -1) : std::nullopt;
    if (difference) {
      const Interval range = BoundsOf(*difference);
      if (range.hi <= 0) return min ? a : b;
      if (range.lo >= 0) return min ? b : a;
    }
  }
  const std::vector<Expr> operands{a, b};
  if (Expr better = ApplyRules(ExprKind::kBinary, static_cast<uint8_t>(op), operands)) return better;
  return Binary(op, a, b);
}

Expr Simplifier::SimplifyCompare(CompareOp op, const Expr& a, const Expr& b) {
  const DataType type = a.type();
  if (type.lanes > 1) {
    if (type.element != PrimitiveType::kS64) return Compare(op, a, b);
    const Interval range_a = Bounds(a), range_b = Bounds(b);
    int decided = Decide(op, range_a - range_b);
    if (decided == 0 && range_a.IsFinite() && range_b.IsFinite())
      decided = Decide(op, Bounds(Binary(BinaryOp::kSub, a, b)));
    if (decided != 0) return IntConst({PrimitiveType::kPred, type.lanes}, decided > 0);
    return Compare(op, a, b);
  }
  if (!IsIndex(a)) {
    if (hlo::IsInteger(type.element) && type.element != PrimitiveType::kU64) {
      const Expr low_a = PositionOf(a, 0), low_b = PositionOf(b, 0);
      if (low_a.get() != nullptr && low_b.get() != nullptr) return SimplifyCompare(op, low_a, low_b);
      const int decided = Decide(op, Bounds(a) - Bounds(b));
      if (decided != 0) return Bool(decided > 0);
    }
    return Compare(op, a, b);
  }
  const Interval range_a = Bounds(a), range_b = Bounds(b);
  if (const int decided = Decide(op, range_a - range_b)) return Bool(decided > 0);
  // Terms may only change sides where nothing can wrap.
  if (!range_a.IsFinite() || !range_b.IsFinite()) return Compare(op, a, b);
  const auto x = ToLinear(a), y = ToLinear(b);
  auto difference = x && y ? AddScaled(*x, *y, -1) : std::nullopt;
  if (!difference) return Compare(op, a, b);
  if (const int decided = Decide(op, BoundsOf(*difference))) return Bool(decided > 0);
  if (difference->IsConstant()) return Bool(Decide(op, Interval::Point(difference->constant)) > 0);

  // sum(c_i * a_i) op -c_0 with a positive first coefficient and coprime coefficients.
  if (difference->terms[0].second < 0) {
    difference = AddScaled({}, *difference, -1);
    if (!difference) return Compare(op, a, b);
    op = Swapped(op);
  }
  int64_t g = 0;
  for (const auto& term : difference->terms) g = std::gcd(g, term.second);
  int64_t bound = -difference->constant;  // sum op bound
  difference->constant = 0;
  if (op == CompareOp::kEq || op == CompareOp::kNe) {
    if (bound % g != 0) return Bool(op == CompareOp::kNe);
    bound /= g;
  } else {
    if (op == CompareOp::kLe || op == CompareOp::kGt) {
      bound += 1;  // s <= b is s < b+1
      op = op == CompareOp::kLe ? CompareOp::kLt : CompareOp::kGe;
    }
    bound = -FloorDivide(-bound, g);  // g*s < b is s < ceil(b / g); g*s >= b is s >= ceil(b / g)
  }
  for (auto& term : difference->terms) term.second /= g;
  return Compare(op, SumOf(*difference), Expr(bound));
}

Expr Simplifier::SimplifyAnd(const Expr& a, const Expr& b) {
  constexpr size_t kMostConjuncts = 16;
  std::vector<Expr> conjuncts, all = Conjuncts(a);
  for (const Expr& e : Conjuncts(b)) all.push_back(e);
  for (const Expr& e : all) {
    if (conjuncts.size() >= kMostConjuncts) return And(a, b);
    bool absorbed = false;
    for (Expr& other : conjuncts) {
      if (other.Same(e)) absorbed = true;
      if (absorbed || other->kind != ExprKind::kCompare || e->kind != ExprKind::kCompare) continue;
      int64_t bound_e, bound_other;
      if (!other->operands[0].Same(e->operands[0]) || !IsIndex(e->operands[0]) ||
          !IsConstInt(e->operands[1], &bound_e) || !IsConstInt(other->operands[1], &bound_other))
        continue;
      const CompareOp op = e->compare(), other_op = other->compare();
      if (op == other_op && op == CompareOp::kLt) {
        if (bound_e < bound_other) other = e;
        absorbed = true;
      } else if (op == other_op && op == CompareOp::kGe) {
        if (bound_e > bound_other) other = e;
        absorbed = true;
      } else if ((op == CompareOp::kLt && other_op == CompareOp::kGe && bound_e <= bound_other) ||
                 (op == CompareOp::kGe && other_op == CompareOp::kLt && bound_other <= bound_e)) {
        return Bool(false);
      }
    }
    if (!absorbed) conjuncts.push_back(e);
  }
  Expr result = conjuncts[0];
  for (size_t i = 1; i < conjuncts.size(); ++i) result = And(result, conjuncts[i]);
  return result;
}

Expr Simplifier::SimplifyMixed(BinaryOp op, const Expr& a, const Expr& b) {
  const int lanes = a.type().lanes;
  const auto scalar = [](const Expr& e) { return e->kind == ExprKind::kSplat ? e->operands[0] : Expr(); };
  int64_t divisor;
  if ((op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod) && a->kind == ExprKind::kRamp && scalar(b) &&
      IsConstInt(scalar(b), &divisor) && divisor > 0) {
    // The lane becomes a variable: the result is often linear in it.
    const Var lane("lane");
    Bind(lane, {0, lanes - 1});
    const Expr x = Simplify(a->operands[0] + a->operands[1] * lane);
    const Expr y = op == BinaryOp::kFloorDiv ? Divide(x, divisor) : Modulo(x, divisor);
    Expr base;
    int64_t stride;
    if (SplitLinear(y, lane, &base, &stride)) return Ramp(base, Expr(stride), lanes);
  }
  if (op == BinaryOp::kMin || op == BinaryOp::kMax) {
    const Interval range_a = Bounds(a), range_b = Bounds(b);
    if (range_a.hi <= range_b.lo) return op == BinaryOp::kMin ? a : b;
    if (range_b.hi <= range_a.lo) return op == BinaryOp::kMin ? b : a;
  }
  return Binary(op, a, b);
}

bool Simplifier::Prove(const Expr& condition) {
  int64_t value = 0;
  return IsConstInt(Simplify(condition), &value) && value != 0;
}

bool Simplifier::SplitLinear(const Expr& e, const Expr& var, Expr* base, int64_t* stride) {
  const auto sum = ToLinear(e);
  if (!sum) return false;
  LinearSum rest;
  rest.constant = sum->constant;
  *stride = 0;
  for (const auto& term : sum->terms) {
    if (term.first.Same(var)) {
      *stride = term.second;
    } else if (Mentions(term.first, var)) {
      return false;
    } else {
      rest.terms.push_back(term);
    }
  }
  *base = FromLinear(rest);
  return true;
}

}  // namespace smelt::kernels::te
