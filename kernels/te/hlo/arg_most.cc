#include "kernels/te/hlo/arg_most.h"

#include <limits>

#include "kernels/te/evaluate.h"

namespace smelt::kernels::te {
namespace {

// Whether a result asks only which of two values, and which of two positions, is larger: cases then stand for all.
bool OnlyCompares(const Combiner& combiner, const Expr& result) {
  const auto are_pair = [&](const Expr& x, const Expr& y) {
    for (int output = 0; output < 2; ++output) {
      const auto is_one = [&](const Expr& e) { return e.Same(combiner.lhs[output]) || e.Same(combiner.rhs[output]); };
      if (is_one(x) && is_one(y)) return true;
    }
    return false;
  };
  bool only = true;
  Visit(result, [&](const Expr& e) {
    const bool is_pred = e.type() == kBool;
    switch (e->kind) {
      case ExprKind::kVar:
      case ExprKind::kSelect:
        return;
      case ExprKind::kCompare:
        only = only && are_pair(e->operands[0], e->operands[1]);
        return;
      case ExprKind::kInt:
      case ExprKind::kUnary:
        only = only && is_pred;
        return;
      case ExprKind::kBinary: {
        const bool chooses = e->binary() == BinaryOp::kMin || e->binary() == BinaryOp::kMax;
        only = only && (is_pred || (chooses && are_pair(e->operands[0], e->operands[1])));
        return;
      }
      default:
        only = false;
    }
  });
  return only;
}

// The pair that comes first, in the form that may be reordered.
std::shared_ptr<const Combiner> FirstOf(BinaryOp most, PrimitiveType value, PrimitiveType position) {
  auto combiner = std::make_shared<Combiner>();
  for (const char* side : {"lhs", "rhs"}) {
    std::vector<Expr>& pair = side[0] == 'l' ? combiner->lhs : combiner->rhs;
    pair = {Var(std::string(side) + "0", {value, 1}), Var(std::string(side) + "1", {position, 1})};
  }
  const Expr &a = combiner->lhs[0], &b = combiner->rhs[0], &i = combiner->lhs[1], &j = combiner->rhs[1];
  const auto both = [](Expr x, Expr y) { return Binary(BinaryOp::kAnd, std::move(x), std::move(y)); };
  const auto either = [](Expr x, Expr y) { return Binary(BinaryOp::kOr, std::move(x), std::move(y)); };
  Expr before = Compare(most == BinaryOp::kMax ? CompareOp::kGt : CompareOp::kLt, a, b);
  Expr equal = Compare(CompareOp::kEq, a, b);
  if (hlo::IsFloat(value)) {
    before = either(before, both(Compare(CompareOp::kNe, a, a), Compare(CompareOp::kEq, b, b)));
    equal = either(equal, both(Compare(CompareOp::kNe, a, a), Compare(CompareOp::kNe, b, b)));
  }
  const Expr first = either(before, both(equal, Compare(CompareOp::kLt, i, j)));
  combiner->results = {Select(first, a, b), Select(first, i, j)};
  combiner->identity = {SimpleCombiner(most, value)->identity[0],
                        SimpleCombiner(BinaryOp::kMin, position)->identity[0]};
  return combiner;
}

// Whether two combiners make the same of every case of two values, whose positions are 3 and 5.
bool AgreeOnAscending(const Combiner& x, const Combiner& y, PrimitiveType value) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<double, double> cases[] = {{1, 2}, {2, 1}, {1, 1}, {kNan, 1}, {1, kNan}, {kNan, kNan}};
  for (const auto& [a, b] : cases) {
    if (!hlo::IsFloat(value) && !(a >= 0 && b >= 0)) continue;
    const auto scalar = [&](double v) {
      return hlo::IsFloat(value) ? Scalar{.f = v} : Scalar{.i = static_cast<int64_t>(v)};
    };
    const auto results = [&](const Combiner& combiner, int output) {
      return EvaluateScalar(combiner.results[output], {{combiner.lhs[0], scalar(a)},
                                                       {combiner.rhs[0], scalar(b)},
                                                       {combiner.lhs[1], {.i = 3}},
                                                       {combiner.rhs[1], {.i = 5}}});
    };
    for (int output = 0; output < 2; ++output) {
      const absl::StatusOr<Scalar> one = results(x, output), other = results(y, output);
      if (!one.ok() || !other.ok() || one->i != other->i) return false;
      if (one->f != other->f && !(one->f != one->f && other->f != other->f)) return false;
    }
  }
  return true;
}

}  // namespace

std::shared_ptr<const Combiner> ArgMost(const Combiner& combiner, PrimitiveType value, PrimitiveType position) {
  if (combiner.results.size() != 2 || !hlo::IsInteger(position)) return nullptr;
  if (!hlo::IsFloat(value) && !hlo::IsInteger(value)) return nullptr;
  for (const Expr& result : combiner.results) {
    if (!OnlyCompares(combiner, result)) return nullptr;
  }
  for (const BinaryOp most : {BinaryOp::kMax, BinaryOp::kMin}) {
    std::shared_ptr<const Combiner> first = FirstOf(most, value, position);
    if (AgreeOnAscending(combiner, *first, value)) return first;
  }
  return nullptr;
}

bool CountsAlong(const hlo::Instruction& instruction, int64_t dimension) {
  switch (instruction.opcode()) {
    case hlo::Opcode::kIota:
      return instruction.attributes<hlo::IotaAttributes>().dimension == dimension;
    case hlo::Opcode::kBroadcast: {
      const std::vector<int64_t>& to = instruction.attributes<hlo::DimensionsAttributes>().dimensions;
      for (size_t d = 0; d < to.size(); ++d) {
        if (to[d] == dimension) return CountsAlong(*instruction.operand(0), static_cast<int64_t>(d));
      }
      return false;
    }
    default:
      return false;
  }
}

}  // namespace smelt::kernels::te
