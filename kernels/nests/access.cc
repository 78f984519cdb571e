#include "kernels/nests/access.h"

#include "absl/container/flat_hash_set.h"
#include "base/ceil_div.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::nests {

using te::BinaryOp;
using te::Expr;
using te::ExprKind;

bool DependsOn(const Access& access, const Expr& variable) {
  return std::any_of(access.indices.begin(), access.indices.end(),
                     [&](const Expr& index) { return te::Mentions(index, variable); });
}

bool IsPositionData(const Access& access) {
  return std::any_of(access.indices.begin(), access.indices.end(), [](const Expr& index) {
    return te::Contains(index, [](const Expr& e) { return e->kind == ExprKind::kTensorRead; });
  });
}

std::optional<int64_t> Coefficient(const Expr& expression, const Expr& variable) {
  if (expression.Same(variable)) return 1;
  if (expression->kind == ExprKind::kBinary) {
    const Expr& a = expression->operands[0];
    const Expr& b = expression->operands[1];
    int64_t constant = 0;
    switch (expression->binary()) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub: {
        const std::optional<int64_t> left = Coefficient(a, variable);
        const std::optional<int64_t> right = Coefficient(b, variable);
        if (!left || !right) return std::nullopt;
        return expression->binary() == BinaryOp::kAdd ? *left + *right : *left - *right;
      }
      case BinaryOp::kMul:
        if (te::IsConstInt(b, &constant)) {
          const std::optional<int64_t> left = Coefficient(a, variable);
          return left ? std::optional<int64_t>(*left * constant) : std::nullopt;
        }
        if (te::IsConstInt(a, &constant)) {
          const std::optional<int64_t> right = Coefficient(b, variable);
          return right ? std::optional<int64_t>(*right * constant) : std::nullopt;
        }
        break;
      default:
        break;
    }
  }
  if (!te::Mentions(expression, variable)) return 0;
  return std::nullopt;
}

std::optional<int64_t> Stride(const Access& access, const Expr& variable) {
  int64_t stride = 0;
  int64_t row = 1;
  for (size_t d = access.indices.size(); d-- > 0;) {
    if (access.tensor->shape[d] != 1) {
      const std::optional<int64_t> coefficient = Coefficient(access.indices[d], variable);
      if (!coefficient) return std::nullopt;
      stride += *coefficient * row;
    }
    row *= access.tensor->shape[d];
  }
  return stride;
}

std::optional<int64_t> FirstStride(const Access& access, const Expr& variable) {
  if (const std::optional<int64_t> stride = Stride(access, variable)) return stride;
  te::Simplifier simplifier;
  int64_t stride = 0;
  int64_t row = 1;
  for (size_t d = access.indices.size(); d-- > 0;) {
    const Expr& index = access.indices[d];
    const Expr step = simplifier.Simplify(te::Substitute(index, {{variable, te::IntConst(variable->type, 1)}}) -
                                          te::Substitute(index, {{variable, te::IntConst(variable->type, 0)}}));
    int64_t constant = 0;
    if (!te::IsConstInt(step, &constant)) return std::nullopt;
    stride += constant * row;
    row *= access.tensor->shape[d];
  }
  return stride;
}

std::optional<int64_t> StrideInVectors(const Access& access, const te::IterVar& axis, int64_t lanes) {
  if (const std::optional<int64_t> stride = Stride(access, axis.var)) return stride;
  te::Simplifier simplifier;
  for (const auto* axes : {&access.reader->axes, &access.reader->reduce_axes}) {
    for (const te::IterVar& other : *axes) simplifier.Bind(other.var, {0, other.extent - 1});
  }
  const te::Var vector("vector"), lane("lane");
  simplifier.Bind(vector, {0, CeilDiv(axis.extent, lanes) - 1});
  simplifier.Bind(lane, {0, lanes - 1});
  Access inside = access;
  for (Expr& index : inside.indices)
    index = simplifier.Simplify(te::Substitute(index, {{axis.var, vector * lanes + lane}}));
  return Stride(inside, lane);
}

std::vector<Access> DirectReads(const te::OperationRef& operation) {
  std::vector<Access> reads;
  absl::flat_hash_set<const te::ExprNode*> seen;
  for (const Expr& body : operation->bodies) {
    te::Visit(body, [&](const Expr& e) {
      if (e->kind != ExprKind::kTensorRead || !seen.insert(e.get()).second) return;
      reads.push_back({operation, e->tensor, static_cast<int>(e->int_value), e->operands});
    });
  }
  return reads;
}

double Elements(const te::Operation& operation) {
  double elements = 1;
  for (int64_t extent : operation.shape) elements *= static_cast<double>(extent);
  return elements;
}

double Steps(const te::Operation& operation) {
  double steps = Elements(operation);
  for (const te::IterVar& axis : operation.reduce_axes) steps *= static_cast<double>(axis.extent);
  return steps;
}

}  // namespace smelt::kernels::nests
