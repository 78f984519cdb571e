#include "targets/cpu/codegen/expr_facts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/te/intrinsic.h"

namespace smelt::cpu::codegen {

using kernels::te::BinaryOp;
using kernels::te::ExprKind;

namespace {

Interval TypeRange(kernels::te::PrimitiveType type) {
  if (type == kernels::te::PrimitiveType::kPred) return Interval::Of(0, 1);
  if (!hlo::IsInteger(type)) return {};
  const int bits = hlo::BitWidth(type);
  if (bits > 32) return {};
  if (hlo::IsSigned(type)) return Interval::Of(-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1);
  return Interval::Of(0, (int64_t{1} << bits) - 1);
}

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);  // b > 0
}

Interval Join(Interval a, Interval b) {
  if (!a.known || !b.known) return {};
  return Interval::Of(std::min(a.low, b.low), std::max(a.high, b.high));
}

Interval Product(Interval a, Interval b) {
  int64_t corners[4];
  if (__builtin_mul_overflow(a.low, b.low, &corners[0]) || __builtin_mul_overflow(a.low, b.high, &corners[1]) ||
      __builtin_mul_overflow(a.high, b.low, &corners[2]) || __builtin_mul_overflow(a.high, b.high, &corners[3])) {
    return {};
  }
  return Interval::Of(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

Interval Sum(Interval a, Interval b) {
  int64_t low, high;
  if (__builtin_add_overflow(a.low, b.low, &low) || __builtin_add_overflow(a.high, b.high, &high)) return {};
  return Interval::Of(low, high);
}

Interval BinaryRange(BinaryOp op, Interval a, Interval b) {
  // One side is enough to bound these from one side, but both sides are what an index needs.
  if (op == BinaryOp::kFloorMod && b.known && b.low > 0) {
    if (a.known && a.low >= 0 && a.high < b.low) return a;
    return Interval::Of(0, b.high - 1);
  }
  if (!a.known || !b.known) return {};
  switch (op) {
    case BinaryOp::kAdd:
      return Sum(a, b);
    case BinaryOp::kSub:
      if (b.low == INT64_MIN) return {};
      return Sum(a, Interval::Of(-b.high, -b.low));
    case BinaryOp::kMul:
      return Product(a, b);
    case BinaryOp::kFloorDiv:
      if (b.low <= 0) return {};
      return Interval::Of(std::min(FloorDivide(a.low, b.low), FloorDivide(a.low, b.high)),
                          std::max(FloorDivide(a.high, b.low), FloorDivide(a.high, b.high)));
    case BinaryOp::kMin:
      return Interval::Of(std::min(a.low, b.low), std::min(a.high, b.high));
    case BinaryOp::kMax:
      return Interval::Of(std::max(a.low, b.low), std::max(a.high, b.high));
    default:
      return {};
  }
}

}  // namespace

void ExprFacts::Bind(const kernels::te::Expr& var, Interval interval) {
  auto [at, inserted] = variables_.try_emplace(var.get(), interval);
  if (inserted) return;
  if (at->second.known == interval.known && at->second.low == interval.low && at->second.high == interval.high) return;
  at->second = interval;
  facts_.clear();
}

const Facts& ExprFacts::Of(const kernels::te::ExprNode* root) {
  if (auto at = facts_.find(root); at != facts_.end()) return at->second;
  // An explicit stack: a long fused chain is a deep expression.
  std::vector<std::pair<const kernels::te::ExprNode*, bool>> stack = {{root, false}};
  while (!stack.empty()) {
    auto [node, expanded] = stack.back();
    if (facts_.contains(node)) {
      stack.pop_back();
    } else if (!expanded) {
      stack.back().second = true;
      for (const kernels::te::Expr& operand : node->operands) stack.push_back({operand.get(), false});
      if (node->predicate) stack.push_back({node->predicate.get(), false});
    } else {
      stack.pop_back();
      Facts facts = Compute(*node);
      facts_.emplace(node, facts);
    }
  }
  return facts_.at(root);
}

Facts ExprFacts::Compute(const kernels::te::ExprNode& node) const {
  Facts facts;
  bool operands_narrow = true;
  for (const kernels::te::Expr& operand : node.operands) {
    facts.reads_written |= Known(operand).reads_written;
    operands_narrow &= Known(operand).narrow;
  }
  if (node.predicate) facts.reads_written |= Known(node.predicate).reads_written;
  if (node.type.element != kernels::te::PrimitiveType::kToken) facts.range = TypeRange(node.type.element);
  const bool index = node.type.element == kernels::te::kIndex.element;
  switch (node.kind) {
    case ExprKind::kInt:
      facts.range = Interval::Of(node.int_value, node.int_value);
      operands_narrow = true;
      break;
    case ExprKind::kVar:
      if (auto at = variables_.find(&node); at != variables_.end()) facts.range = at->second;
      operands_narrow = true;
      break;
    case ExprKind::kLoad:
      facts.reads_written |= written_.contains(node.buffer.get());
      operands_narrow = true;
      break;
    case ExprKind::kAddress:
      // A buffer may be allocated anew at the next statement, elsewhere.
      facts.reads_written = true;
      facts.range = {};
      operands_narrow = false;
      break;
    case ExprKind::kCall:
      // What touches memory, or must happen where it stands, is not remembered beyond its statement.
      facts.reads_written |= !node.intrinsic->IsPure();
      if (index) facts.range = {};
      operands_narrow = false;
      break;
    case ExprKind::kBinary:
      if (index) facts.range = BinaryRange(node.binary(), Known(node.operands[0]).range, Known(node.operands[1]).range);
      break;
    case ExprKind::kSelect:
      if (index) {
        facts.range = Join(Known(node.operands[1]).range, Known(node.operands[2]).range);
        operands_narrow = Known(node.operands[1]).narrow && Known(node.operands[2]).narrow;
      }
      break;
    case ExprKind::kCast:
      // Widening keeps the value; other casts to an index may not.
      if (index) {
        facts.range = hlo::IsFloat(node.operands[0].type().element) ? Interval{} : Known(node.operands[0]).range;
        operands_narrow = true;
      }
      break;
    case ExprKind::kSplat:
      facts.range = Known(node.operands[0]).range;
      break;
    case ExprKind::kRamp: {
      const Interval base = Known(node.operands[0]).range;
      const Interval stride = Known(node.operands[1]).range;
      facts.range = {};
      if (base.known && stride.known) {
        const Interval span = Product(stride, Interval::Of(0, node.type.lanes - 1));
        if (span.known) facts.range = Sum(base, span);
      }
      break;
    }
    default:
      if (index) facts.range = {};
      operands_narrow = false;
  }
  facts.narrow = index && operands_narrow && facts.range.Fits32();
  return facts;
}

}  // namespace smelt::cpu::codegen
