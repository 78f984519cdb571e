#include "kernels/nests/body_cost.h"

namespace smelt::kernels::nests {
namespace {

using te::BinaryOp;
using te::Expr;
using te::ExprKind;
using te::UnaryOp;

double UnaryCost(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNegate:
    case UnaryOp::kAbs:
    case UnaryOp::kNot:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRoundEven:
    case UnaryOp::kIsFinite:
      return 2;
    case UnaryOp::kSign:
    case UnaryOp::kRoundAfz:
    case UnaryOp::kPopcount:
    case UnaryOp::kClz:
      return 6;
    case UnaryOp::kSqrt:
    case UnaryOp::kExp:
      return 28;
    default:
      return 45;
  }
}

double BinaryCost(BinaryOp op, bool is_float) {
  switch (op) {
    case BinaryOp::kDiv:
    case BinaryOp::kRem:
      return is_float ? 20 : 60;
    case BinaryOp::kPower:
    case BinaryOp::kAtan2:
      return 90;
    default:
      return 2;
  }
}

}  // namespace

double BodyCost(const te::Operation& operation) {
  double cost = 0;
  for (const Expr& body : operation.bodies) {
    te::Visit(body, [&](const Expr& e) {
      // Indices are s64; the rare s64 values are charged as if they were.
      if (e->type.element == hlo::PrimitiveType::kS64 || e->type.element == hlo::PrimitiveType::kPred) return;
      switch (e->kind) {
        case ExprKind::kUnary:
          cost += UnaryCost(e->unary());
          break;
        case ExprKind::kBinary:
          cost += BinaryCost(e->binary(), hlo::IsFloat(e->type.element));
          break;
        case ExprKind::kSelect:
        case ExprKind::kCast:
          cost += 2;
          break;
        case ExprKind::kIf:
          cost += 6;
          break;
        default:
          break;
      }
    });
  }
  return cost;
}

}  // namespace smelt::kernels::nests
