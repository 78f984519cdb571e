#include "kernels/lower/border.h"

#include <utility>

#include "kernels/te/hlo/position.h"

namespace smelt::kernels::lower {
namespace {

using te::ExprKind;

// A condition is asked once in at least so many iterations of the loops within.
constexpr int64_t kLeastWithin = 64;
// A loop over at most so many taps is cut where that leaves out at least one of so many products: each piece is code.
constexpr int64_t kMostTaps = 9;
constexpr int64_t kLeastLeftOut = 48;

bool IsSum(const schedule::Stage& stage) {
  if (stage.reduce_axes.empty() || stage.bodies.size() != 1) return false;
  const te::Combiner& combiner = *stage.bodies[0]->combiner;
  if (combiner.results.size() != 1) return false;
  const Expr& result = combiner.results[0];
  return result->kind == ExprKind::kBinary && result->binary() == te::BinaryOp::kAdd;
}

// The factors of a product, conversions left out.
std::vector<Expr> FactorsOf(const Expr& value) {
  if (value->kind != ExprKind::kBinary || value->binary() != te::BinaryOp::kMul) return {};
  std::vector<Expr> factors = value->operands;
  for (Expr& factor : factors) {
    while (factor->kind == ExprKind::kCast) factor = factor->operands[0];
  }
  return factors;
}

// Lanes and threads of a device would part ways at it.
bool IsCheap(const Expr& condition, const Nest& nest) {
  double iterations = 1;  // of the loops from here inwards
  double within = 0;      // of those inside the innermost loop that the condition mentions
  for (size_t i = nest.loops.size(); i-- > 0;) {
    const NestLoop& loop = nest.loops[i];
    const bool stays = loop.kind == ir::ForKind::kSerial || loop.kind == ir::ForKind::kParallel;
    if (te::Mentions(condition, loop.var)) {
      if (!stays) return false;
      if (within == 0) within = iterations;
    }
    if (stays) iterations *= static_cast<double>(loop.extent);
  }
  return within >= kLeastWithin;
}

// Whether the copies of a body that one unrolled loop makes all know the answer in each piece of the one loop over taps
// that the condition cuts (lower/partition.h): a piece in which they differ has a single tap.
bool IsOfCopies(const Expr& condition, const Nest& nest, te::Simplifier& simplifier) {
  const NestLoop* taps = nullptr;
  const NestLoop* copies = nullptr;
  for (const NestLoop& loop : nest.loops) {
    if (!te::Mentions(condition, loop.var)) continue;
    const NestLoop** which = loop.kind == ir::ForKind::kUnrolled                ? &copies
                             : loop.kind == ir::ForKind::kSerial && loop.reduce ? &taps
                                                                                : nullptr;
    if (which == nullptr || *which != nullptr) return false;
    *which = &loop;
  }
  if (taps == nullptr || copies == nullptr || taps->extent > kMostTaps) return false;
  int64_t left_out = 0, differ = 0;
  for (int64_t tap = 0; tap < taps->extent; ++tap) {
    int64_t zeros = 0;
    for (int64_t copy = 0; copy < copies->extent; ++copy) {
      const Expr at = te::Substitute(condition, {{taps->var, Expr(tap)}, {copies->var, Expr(copy)}});
      int64_t holds = 0;
      if (!te::IsConstInt(simplifier.Simplify(at), &holds)) return false;
      zeros += holds == 0;
    }
    left_out += zeros;
    differ += zeros > 0 && zeros < copies->extent;
  }
  return differ <= 1 && left_out * kLeastLeftOut >= taps->extent * copies->extent;
}

}  // namespace

std::vector<Guard> BorderConditions(const schedule::State& state, const schedule::Stage& stage, const Nest& nest,
                                    te::Simplifier& simplifier) {
  if (!IsSum(stage) || nest.values.size() != 1) return {};
  std::vector<Guard> conditions;
  for (const Expr& factor : FactorsOf(nest.values[0])) {
    if (factor->kind != ExprKind::kTensorRead || factor->tensor->tag != te::kBorderTag) continue;
    const schedule::Stage& border = state.stages[state.IndexOf(factor->tensor.get())];
    if (border.bodies.size() != 1 || border.bodies[0]->kind != ExprKind::kIf) continue;
    std::vector<std::pair<Expr, Expr>> at;
    for (int d = 0; d < border.AxisCount(); ++d) at.emplace_back(border.axes[d].var, factor->operands[d]);
    for (const Expr& inside : te::Conjuncts(border.bodies[0]->operands[0])) {
      const Expr condition = simplifier.Simplify(te::Substitute(inside, at));
      if (te::IsConstInt(condition)) continue;
      if (const bool cheap = IsCheap(condition, nest); cheap || IsOfCopies(condition, nest, simplifier))
        conditions.push_back({.condition = condition, .rare = cheap});
    }
  }
  return conditions;
}

}  // namespace smelt::kernels::lower
