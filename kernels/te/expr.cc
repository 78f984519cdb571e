#include "kernels/te/expr.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "kernels/te/intern.h"
#include "kernels/te/scalar.h"

namespace smelt::kernels::te {
namespace {

bool IsConst(const Expr& e) { return e->kind == ExprKind::kInt || e->kind == ExprKind::kFloat; }
Scalar ValueOf(const Expr& e) { return {.i = e->int_value, .f = e->float_value}; }
Expr ConstOf(DataType type, Scalar value) {
  return hlo::IsFloat(type.element) ? FloatConst(type, value.f) : IntConst(type, value.i);
}

// Whether the expression is this constant, in one lane or in all.
bool IsIntValue(const Expr& e, int64_t value) {
  const ExprNode* node = e->kind == ExprKind::kSplat ? e->operands[0].get() : e.get();
  return node->kind == ExprKind::kInt && node->int_value == value;
}

bool IsIntegral(DataType type) { return hlo::IsInteger(type.element) || type.element == PrimitiveType::kPred; }

Expr Make(ExprKind kind, DataType type, uint8_t op, std::vector<Expr> operands) {
  ExprNode node;
  node.kind = kind;
  node.type = type;
  node.op = op;
  node.operands = std::move(operands);
  return Intern(std::move(node));
}

// x op identity and the like on integers and pred; null when nothing applies. Exact also when arithmetic wraps.
Expr FoldIdentity(BinaryOp op, const Expr& a, const Expr& b) {
  const DataType type = a.type();
  if (!IsIntegral(type)) return Expr();
  const auto zero = [&] { return IntConst(type, 0); };
  if (type.element == PrimitiveType::kPred) {
    switch (op) {
      case BinaryOp::kAnd:
      case BinaryOp::kMul:
      case BinaryOp::kMin:
        if (IsIntValue(a, 0) || IsIntValue(b, 0)) return zero();
        if (IsIntValue(a, 1) || a.Same(b)) return b;
        if (IsIntValue(b, 1)) return a;
        return Expr();
      case BinaryOp::kOr:
      case BinaryOp::kAdd:
      case BinaryOp::kMax:
        if (IsIntValue(a, 1) || IsIntValue(b, 1)) return IntConst(type, 1);
        if (IsIntValue(a, 0) || a.Same(b)) return b;
        if (IsIntValue(b, 0)) return a;
        return Expr();
      default:
        return Expr();
    }
  }
  switch (op) {
    case BinaryOp::kAdd:
      if (IsIntValue(a, 0)) return b;
      if (IsIntValue(b, 0)) return a;
      break;
    case BinaryOp::kSub:
      if (IsIntValue(b, 0)) return a;
      if (a.Same(b)) return zero();
      break;
    case BinaryOp::kMul:
      if (IsIntValue(a, 0) || IsIntValue(b, 0)) return zero();
      if (IsIntValue(a, 1)) return b;
      if (IsIntValue(b, 1)) return a;
      break;
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
      if (IsIntValue(b, 1)) return a;
      break;
    case BinaryOp::kFloorMod:
      if (IsIntValue(b, 1)) return zero();
      break;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
      if (a.Same(b)) return a;
      break;
    default:
      break;
  }
  return Expr();
}

// Arithmetic on index vectors stays affine: ramp + splat, ramp * splat and the like are ramps.
Expr FoldLanes(BinaryOp op, const Expr& a, const Expr& b) {
  const int lanes = a.type().lanes;
  const bool splat_a = a->kind == ExprKind::kSplat, splat_b = b->kind == ExprKind::kSplat;
  const bool ramp_a = a->kind == ExprKind::kRamp, ramp_b = b->kind == ExprKind::kRamp;
  if (splat_a && splat_b) return Splat(Binary(op, a->operands[0], b->operands[0]), lanes);
  if (op == BinaryOp::kAdd || op == BinaryOp::kSub) {
    if (ramp_a && splat_b) return Ramp(Binary(op, a->operands[0], b->operands[0]), a->operands[1], lanes);
    if (ramp_a && ramp_b)
      return Ramp(Binary(op, a->operands[0], b->operands[0]), Binary(op, a->operands[1], b->operands[1]), lanes);
    if (splat_a && ramp_b && op == BinaryOp::kAdd)
      return Ramp(Binary(op, a->operands[0], b->operands[0]), b->operands[1], lanes);
    if (splat_a && ramp_b)
      return Ramp(Binary(op, a->operands[0], b->operands[0]),
                  Binary(op, IntConst(b->operands[1].type(), 0), b->operands[1]), lanes);
  }
  if (op == BinaryOp::kMul && ramp_a && splat_b)
    return Ramp(Binary(op, a->operands[0], b->operands[0]), Binary(op, a->operands[1], b->operands[0]), lanes);
  if (op == BinaryOp::kMul && splat_a && ramp_b)
    return Ramp(Binary(op, a->operands[0], b->operands[0]), Binary(op, a->operands[0], b->operands[1]), lanes);
  return Expr();
}

}  // namespace

Expr::Expr(int64_t value) {
  // Most constants are small; these never enter the table.
  constexpr int64_t kLow = -16, kHigh = 257;
  static const auto* small = [] {
    auto* made = new std::array<Expr, kHigh - kLow>;
    for (int64_t v = kLow; v < kHigh; ++v) {
      ExprNode node;
      node.kind = ExprKind::kInt;
      node.type = kIndex;
      node.int_value = v;
      (*made)[v - kLow] = Intern(std::move(node));
    }
    return made;
  }();
  *this = value >= kLow && value < kHigh ? (*small)[value - kLow] : IntConst(kIndex, value);
}

DataType Expr::type() const { return node_->type; }

Var::Var(std::string name, DataType type) {
  ExprNode node;
  node.kind = ExprKind::kVar;
  node.type = type;
  node.name = std::move(name);
  static_cast<Expr&>(*this) = Intern(std::move(node));
}

Expr IntConst(DataType type, int64_t value) {
  if (type.lanes != 1) return Splat(IntConst(type.WithLanes(1), value), type.lanes);
  Check(IsIntegral(type), "integer constant of a type that is not an integer");
  ExprNode node;
  node.kind = ExprKind::kInt;
  node.type = type;
  node.int_value = RoundTo(type.element, {.i = value}).i;
  return Intern(std::move(node));
}

Expr FloatConst(DataType type, double value) {
  if (type.lanes != 1) return Splat(FloatConst(type.WithLanes(1), value), type.lanes);
  Check(hlo::IsFloat(type.element), "floating constant of a type that is not a float");
  ExprNode node;
  node.kind = ExprKind::kFloat;
  node.type = type;
  node.float_value = RoundTo(type.element, {.f = value}).f;
  return Intern(std::move(node));
}

Expr Bool(bool value) { return IntConst(kBool, value); }

Expr Unary(UnaryOp op, Expr x) {
  const DataType type = x.type();
  const DataType result = op == UnaryOp::kIsFinite ? DataType{PrimitiveType::kPred, type.lanes} : type;
  if (IsConst(x)) return ConstOf(result, EvaluateUnary(op, type.element, ValueOf(x)));
  if (x->kind == ExprKind::kSplat) return Splat(Unary(op, x->operands[0]), type.lanes);
  if (op == UnaryOp::kNot) {
    if (x->kind == ExprKind::kUnary && x->unary() == UnaryOp::kNot) return x->operands[0];
    if (x->kind == ExprKind::kCompare && !hlo::IsFloat(x->operands[0].type().element)) {
      constexpr CompareOp kOpposite[] = {CompareOp::kNe, CompareOp::kEq, CompareOp::kGe,
                                         CompareOp::kGt, CompareOp::kLe, CompareOp::kLt};
      return Compare(kOpposite[x->op], x->operands[0], x->operands[1]);
    }
  }
  return Make(ExprKind::kUnary, result, static_cast<uint8_t>(op), {std::move(x)});
}

Expr Binary(BinaryOp op, Expr a, Expr b) {
  const DataType type = a.type();
  Check(type == b.type(), "operands of different types");
  if (IsConst(a) && IsConst(b)) {
    const bool divides = op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod;
    if (!divides || b->int_value > 0) return ConstOf(type, EvaluateBinary(op, type.element, ValueOf(a), ValueOf(b)));
  }
  if (Expr folded = FoldIdentity(op, a, b)) return folded;
  if (type.lanes > 1) {
    if (Expr folded = FoldLanes(op, a, b)) return folded;
  }
  // Constants of commutative integer operators stand on the right.
  const bool commutes = op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kMin || op == BinaryOp::kMax;
  if (commutes && IsConst(a) && IsIntegral(type)) std::swap(a, b);
  return Make(ExprKind::kBinary, type, static_cast<uint8_t>(op), {std::move(a), std::move(b)});
}

Expr Compare(CompareOp op, Expr a, Expr b) {
  const DataType type = a.type();
  Check(type == b.type(), "compared operands of different types");
  const DataType result{PrimitiveType::kPred, type.lanes};
  if (IsConst(a) && IsConst(b)) return Bool(EvaluateCompare(op, type.element, ValueOf(a), ValueOf(b)));
  if (a.Same(b) && IsIntegral(type)) {
    return IntConst(result, op == CompareOp::kEq || op == CompareOp::kLe || op == CompareOp::kGe);
  }
  if (a->kind == ExprKind::kSplat && b->kind == ExprKind::kSplat) {
    return Splat(Compare(op, a->operands[0], b->operands[0]), type.lanes);
  }
  return Make(ExprKind::kCompare, result, static_cast<uint8_t>(op), {std::move(a), std::move(b)});
}

namespace {

Expr Choose(ExprKind kind, Expr condition, Expr then, Expr otherwise) {
  Check(then.type() == otherwise.type(), "alternatives of different types");
  Check(condition.type().element == PrimitiveType::kPred, "condition that is not a pred");
  if (IsIntValue(condition, 1) || then.Same(otherwise)) return then;
  if (IsIntValue(condition, 0)) return otherwise;
  const DataType type = then.type();
  return Make(kind, type, 0, {std::move(condition), std::move(then), std::move(otherwise)});
}

}  // namespace

Expr Select(Expr condition, Expr then, Expr otherwise) {
  return Choose(ExprKind::kSelect, std::move(condition), std::move(then), std::move(otherwise));
}

Expr If(Expr condition, Expr then, Expr otherwise) {
  return Choose(ExprKind::kIf, std::move(condition), std::move(then), std::move(otherwise));
}

Expr Cast(DataType type, Expr x) {
  if (type == x.type()) return x;
  Check(type.lanes == x.type().lanes, "cast that changes the number of lanes");
  if (IsConst(x)) return ConstOf(type, EvaluateCast(x.type().element, type.element, ValueOf(x)));
  if (x->kind == ExprKind::kSplat) return Splat(Cast(type.WithLanes(1), x->operands[0]), type.lanes);
  return Make(ExprKind::kCast, type, 0, {std::move(x)});
}

Expr BitCast(DataType type, Expr x) {
  if (type == x.type()) return x;
  Check(type.lanes == x.type().lanes && hlo::BitWidth(type.element) == hlo::BitWidth(x.type().element),
        "bit cast between types of different widths");
  if (x->kind == ExprKind::kInt) return ConstOf(type, EvaluateBitCast(x.type().element, type.element, ValueOf(x)));
  if (x->kind == ExprKind::kSplat) return Splat(BitCast(type.WithLanes(1), x->operands[0]), type.lanes);
  return Make(ExprKind::kBitCast, type, 0, {std::move(x)});
}

Expr Ramp(Expr base, Expr stride, int lanes) {
  Check(base.type() == stride.type() && base.type().lanes == 1, "ramp of operands that are not scalars of one type");
  if (lanes == 1) return base;
  if (IsIntValue(stride, 0)) return Splat(std::move(base), lanes);
  const DataType type = base.type().WithLanes(lanes);
  return Make(ExprKind::kRamp, type, 0, {std::move(base), std::move(stride)});
}

Expr Splat(Expr x, int lanes) {
  Check(x.type().lanes == 1, "splat of a vector");
  if (lanes == 1) return x;
  const DataType type = x.type().WithLanes(lanes);
  return Make(ExprKind::kSplat, type, 0, {std::move(x)});
}

Expr operator+(const Expr& a, const Expr& b) { return Binary(BinaryOp::kAdd, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return Binary(BinaryOp::kSub, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return Binary(BinaryOp::kMul, a, b); }
Expr FloorDiv(const Expr& a, const Expr& b) { return Binary(BinaryOp::kFloorDiv, a, b); }
Expr FloorMod(const Expr& a, const Expr& b) { return Binary(BinaryOp::kFloorMod, a, b); }
Expr Min(const Expr& a, const Expr& b) { return Binary(BinaryOp::kMin, a, b); }
Expr Max(const Expr& a, const Expr& b) { return Binary(BinaryOp::kMax, a, b); }
Expr operator<(const Expr& a, const Expr& b) { return Compare(CompareOp::kLt, a, b); }
Expr operator<=(const Expr& a, const Expr& b) { return Compare(CompareOp::kLe, a, b); }
Expr operator>=(const Expr& a, const Expr& b) { return Compare(CompareOp::kGe, a, b); }
Expr operator==(const Expr& a, const Expr& b) { return Compare(CompareOp::kEq, a, b); }
Expr And(const Expr& a, const Expr& b) { return Binary(BinaryOp::kAnd, a, b); }
Expr Or(const Expr& a, const Expr& b) { return Binary(BinaryOp::kOr, a, b); }
Expr Not(const Expr& a) { return Unary(UnaryOp::kNot, a); }

std::vector<Expr> Conjuncts(const Expr& condition) {
  std::vector<Expr> all, pending{condition};
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (e->kind == ExprKind::kBinary && e->binary() == BinaryOp::kAnd) {
      pending.push_back(e->operands[1]);
      pending.push_back(e->operands[0]);
    } else {
      all.push_back(e);
    }
  }
  return all;
}

bool IsConstInt(const Expr& e, int64_t* value) {
  if (!e || e->kind != ExprKind::kInt) return false;
  if (value != nullptr) *value = e->int_value;
  return true;
}

}  // namespace smelt::kernels::te
