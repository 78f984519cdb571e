#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/te/hlo/arg_most.h"
#include "kernels/te/hlo/pairs.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {
namespace {

// Sums and products of short floats lose their low bits when every step rounds; those of short integers are slow when
// every step wraps.
bool AccumulatesWide(BinaryOp op, PrimitiveType type) {
  return (op == BinaryOp::kAdd || op == BinaryOp::kMul) && AccumulatorType(type) != type;
}

// The operation, where the combiner is nothing but one of those with a known identity applied to its two arguments.
bool IsSimple(const Expr& result, const Expr& lhs, const Expr& rhs, BinaryOp* op) {
  if (result->kind != ExprKind::kBinary) return false;
  const Expr& a = result->operands[0];
  const Expr& b = result->operands[1];
  if (!((a.Same(lhs) && b.Same(rhs)) || (a.Same(rhs) && b.Same(lhs)))) return false;
  *op = result->binary();
  constexpr BinaryOp kKnown[] = {BinaryOp::kAdd, BinaryOp::kMul, BinaryOp::kMin,
                                 BinaryOp::kMax, BinaryOp::kAnd, BinaryOp::kOr};
  return std::find(std::begin(kKnown), std::end(kKnown), *op) != std::end(kKnown);
}

// A constant that is not NaN.
bool IsNumber(const Expr& e) {
  return e->kind == ExprKind::kInt || (e->kind == ExprKind::kFloat && e->float_value == e->float_value);
}

}  // namespace

PrimitiveType AccumulatorType(PrimitiveType type) {
  if (hlo::IsFloat(type)) return hlo::BitWidth(type) < 32 ? PrimitiveType::kF32 : type;
  if (hlo::IsInteger(type) && hlo::BitWidth(type) < 8) {
    return hlo::IsSigned(type) ? PrimitiveType::kS8 : PrimitiveType::kU8;
  }
  return type;
}

absl::StatusOr<Reducer> MakeReducer(const RuleInput& input) {
  const int64_t count = input.instruction.operand_count() / 2;
  Combiner combiner;
  Reducer reducer;
  for (int64_t i = 0; i < count; ++i) {
    const PrimitiveType type = input.instruction.operand(i)->shape().element_type;
    reducer.types.push_back(type);
    reducer.init.push_back(input.operand(count + i).At({}));
    combiner.lhs.push_back(Var(absl::StrCat("lhs", i), {type, 1}));
    combiner.rhs.push_back(Var(absl::StrCat("rhs", i), {type, 1}));
  }
  std::vector<Expr> arguments = combiner.lhs;
  arguments.insert(arguments.end(), combiner.rhs.begin(), combiner.rhs.end());
  SMELT_ASSIGN_OR_RETURN(combiner.results, ScalarComputation(*input.instruction.called(0), arguments));
  if (static_cast<int64_t>(combiner.results.size()) != count) {
    return absl::InvalidArgumentError(absl::StrCat(input.instruction.name(), " reduces ", count,
                                                   " operands, but its computation returns ", combiner.results.size(),
                                                   " values"));
  }
  BinaryOp op;
  if (count == 1 && IsSimple(combiner.results[0], combiner.lhs[0], combiner.rhs[0], &op)) {
    if (AccumulatesWide(op, reducer.types[0])) {
      reducer.types[0] = AccumulatorType(reducer.types[0]);
      reducer.init[0] = Cast({reducer.types[0], 1}, reducer.init[0]);
    }
    reducer.combiner = SimpleCombiner(op, reducer.types[0]);
    return reducer;
  }
  // Others keep the order of the elements.
  reducer.combiner = std::make_shared<const Combiner>(std::move(combiner));
  return reducer;
}

std::vector<Value> FinishReduction(const RuleInput& input, const Reducer& reducer, OperationRef reduction) {
  std::vector<Value> values;
  for (size_t i = 0; i < reducer.types.size(); ++i) {
    const Tensor reduced{reduction, static_cast<int>(i)};
    const PrimitiveType wanted = input.instruction.operand(i)->shape().element_type;
    if (wanted == reducer.types[i]) {
      values.push_back({reduced, Expr()});
      continue;
    }
    values.push_back({Compute(
                          absl::StrCat(input.name, "_round"), reduction->shape,
                          [&](Indices indices) {
                            return Cast({wanted, 1}, reduced(std::vector<Expr>(indices.begin(), indices.end())));
                          },
                          "convert"),
                      Expr()});
  }
  return values;
}

absl::StatusOr<std::vector<Value>> ReduceRule(const RuleInput& input) {
  SMELT_ASSIGN_OR_RETURN(Reducer reducer, MakeReducer(input));
  const std::vector<int64_t>& from = input.operand_dimensions(0);
  const std::vector<int64_t>& reduced = input.instruction.attributes<hlo::DimensionsAttributes>().dimensions;
  std::vector<ReduceAxis> axes;
  std::vector<int64_t> kept;
  std::vector<int> axis_of(from.size(), -1);
  int64_t first = -1;
  // Positions of the elements in their order, from 0 on: which of them is joined with which does not matter then.
  if (reducer.types.size() == 2 && reduced.size() == 1 && CountsAlong(*input.instruction.operand(1), reduced[0]) &&
      IsNumber(reducer.init[0]) && IsConstInt(reducer.init[1], &first) && first == 0) {
    if (auto known = ArgMost(*reducer.combiner, reducer.types[0], reducer.types[1]))
      reducer.combiner = std::move(known);
  }
  for (size_t d = 0; d < from.size(); ++d) {
    if (std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) == reduced.end()) {
      kept.push_back(from[d]);
    } else {
      axis_of[d] = static_cast<int>(axes.size());
      axes.emplace_back(from[d], absl::StrCat("r", axes.size()));
    }
  }
  OperationRef reduction = ComputeMany(
      input.name, kept,
      [&](Indices indices) {
        std::vector<Expr> position;
        size_t next = 0;
        for (size_t d = 0; d < from.size(); ++d) {
          position.push_back(axis_of[d] >= 0 ? Expr(axes[axis_of[d]]) : indices[next++]);
        }
        std::vector<Expr> sources;
        for (size_t i = 0; i < reducer.types.size(); ++i) {
          Expr source = input.operand(i).At(position);
          const DataType type{reducer.types[i], 1};
          sources.push_back(source.type() == type ? source : Cast(type, source));
        }
        if (axes.empty()) {
          // A reduction over no dimension still combines every element with the initial value.
          std::vector<std::pair<Expr, Expr>> arguments;
          for (size_t i = 0; i < sources.size(); ++i) {
            arguments.emplace_back(reducer.combiner->lhs[i], reducer.init[i]);
            arguments.emplace_back(reducer.combiner->rhs[i], sources[i]);
          }
          std::vector<Expr> results;
          for (const Expr& result : reducer.combiner->results) results.push_back(Substitute(result, arguments));
          return results;
        }
        return ReduceMany(reducer.combiner, sources, axes, reducer.init);
      },
      std::string(ReducesPairs(input.instruction) ? kPairsTag : "reduce"));
  return FinishReduction(input, reducer, reduction);
}

}  // namespace smelt::kernels::te
