#include "kernels/lower/region.h"

#include <algorithm>

#include "kernels/te/scalar.h"

namespace smelt::kernels::lower {
namespace {

using te::BinaryOp;
using te::Expr;
using te::ExprKind;
using te::Interval;

constexpr int kDeepest = 64;                   // beyond it constant bounds do
constexpr int64_t kWidest = int64_t{1} << 40;  // wider is no useful bound

}  // namespace

bool RegionAnalysis::AllFixed(const Expr& e) {
  return te::VisitWhile(e, [&](const Expr& node) {
    if (node->kind == ExprKind::kVar) return is_fixed_(node);
    // Memory changes under a running loop.
    return node->kind != ExprKind::kTensorRead && node->kind != ExprKind::kLoad;
  });
}

bool RegionAnalysis::Constant(const Expr& e, Region* region) {
  const Interval range = simplifier_.Bounds(e);
  if (!range.IsFinite() || range.lo < -kWidest || range.hi > kWidest) return false;
  *region = {Expr(range.lo), range.hi - range.lo};
  return true;
}

bool RegionAnalysis::Of(const Expr& index, Region* region) {
  const Expr e = simplifier_.Simplify(index);
  Region symbolic, constant;
  const bool has_symbolic = OfSum(e, 0, &symbolic) && symbolic.width <= kWidest;
  const bool has_constant = Constant(e, &constant);
  if (!has_symbolic && !has_constant) return false;
  *region = has_symbolic && (!has_constant || symbolic.width < constant.width) ? symbolic : constant;
  return true;
}

bool RegionAnalysis::OfSum(const Expr& e, int depth, Region* region) {
  const auto sum = te::ToLinear(e);
  if (!sum || depth > kDeepest) return Constant(e, region);
  te::LinearSum base;
  base.constant = sum->constant;
  int64_t width = 0;
  for (const auto& [atom, coefficient] : sum->terms) {
    Region part;
    if (AllFixed(atom)) {
      part = {atom, 0};
    } else if (!OfAtom(atom, depth + 1, &part)) {
      return false;
    }
    int64_t scaled;
    if (__builtin_mul_overflow(std::abs(coefficient), part.width, &scaled) ||
        __builtin_add_overflow(width, scaled, &width))
      return false;
    const auto low = te::ToLinear(coefficient > 0 ? part.base : part.base + Expr(part.width));
    const auto joined = low ? te::AddScaled(base, *low, coefficient) : std::nullopt;
    if (!joined) return false;
    base = *joined;
  }
  *region = {simplifier_.Simplify(te::FromLinear(base)), width};
  return true;
}

bool RegionAnalysis::OfAtom(const Expr& e, int depth, Region* region) {
  if (depth > kDeepest) return Constant(e, region);
  int64_t divisor;
  if (e->kind == ExprKind::kBinary) {
    const BinaryOp op = e->binary();
    Region x, y;
    if ((op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod) && te::IsConstInt(e->operands[1], &divisor) &&
        divisor > 0 && OfSum(e->operands[0], depth, &x)) {
      const Expr remainder = simplifier_.Simplify(FloorMod(x.base, divisor));
      const Interval range = simplifier_.Bounds(remainder);
      if (op == BinaryOp::kFloorDiv) {
        *region = {simplifier_.Simplify(FloorDiv(x.base, divisor)), (range.hi + x.width) / divisor};
        return true;
      }
      if (range.hi + x.width < divisor) {
        *region = {remainder, x.width};
        return true;
      }
      *region = {Expr(0), divisor - 1};
      return true;
    }
    if ((op == BinaryOp::kMin || op == BinaryOp::kMax) && OfSum(e->operands[0], depth, &x) &&
        OfSum(e->operands[1], depth, &y)) {
      *region = {simplifier_.Simplify(te::Binary(op, x.base, y.base)), std::max(x.width, y.width)};
      return true;
    }
  }
  if (e->kind == ExprKind::kSelect || e->kind == ExprKind::kIf) {
    Region x, y;
    if (OfSum(e->operands[1], depth, &x) && OfSum(e->operands[2], depth, &y)) return Join(x, y, region);
  }
  return Constant(e, region);
}

bool RegionAnalysis::Join(const Region& a, const Region& b, Region* joined) {
  const Expr difference = simplifier_.Simplify(b.base - a.base);
  const Interval range = simplifier_.Bounds(difference);
  if (!range.IsFinite() || range.lo < -kWidest || range.hi > kWidest) return false;
  // From the lower base to the higher end, wherever within the range the distance is.
  const int64_t width =
      std::max({a.width, b.width + std::max<int64_t>(range.hi, 0), a.width + std::max<int64_t>(-range.lo, 0), b.width});
  if (range.lo >= 0) {
    *joined = {a.base, std::max(a.width, range.hi + b.width)};
  } else if (range.hi <= 0) {
    *joined = {b.base, std::max(b.width, -range.lo + a.width)};
  } else {
    *joined = {simplifier_.Simplify(Min(a.base, b.base)), width};
  }
  return true;
}

}  // namespace smelt::kernels::lower
