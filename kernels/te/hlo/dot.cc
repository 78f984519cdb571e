#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/te/hlo/rules.h"

namespace smelt::kernels::te {

Value EmitContraction(const RuleInput& input, const std::vector<int64_t>& shape,
                      const std::function<Expr(Indices, PrimitiveType)>& source, const std::vector<ReduceAxis>& axes,
                      std::string_view suffix) {
  const PrimitiveType accumulator = AccumulatorType(input.type());
  const bool rounds = accumulator != input.type();
  const std::string name = absl::StrCat(input.name, std::string(suffix));
  const std::string tag(hlo::OpcodeName(input.instruction.opcode()));
  const BinaryOp add = accumulator == PrimitiveType::kPred ? BinaryOp::kOr : BinaryOp::kAdd;
  const Tensor sum = Compute(
      rounds ? absl::StrCat(name, "_wide") : name, shape,
      [&](Indices indices) { return Reduce(SimpleCombiner(add, accumulator), source(indices, accumulator), axes); },
      tag);
  if (!rounds) return {sum, Expr()};
  return {Compute(
              name, shape,
              [&](Indices indices) {
                return Cast({input.type(), 1}, sum(std::vector<Expr>(indices.begin(), indices.end())));
              },
              "convert"),
          Expr()};
}

// Result dimensions: batch, free dimensions of the left operand, free dimensions of the right one.
absl::StatusOr<std::vector<Value>> DotRule(const RuleInput& input) {
  const hlo::DotAttributes& dot = input.instruction.attributes<hlo::DotAttributes>();
  const std::vector<int64_t>& lhs = input.operand_dimensions(0);
  const std::vector<int64_t>& rhs = input.operand_dimensions(1);
  std::vector<ReduceAxis> axes;
  for (size_t i = 0; i < dot.lhs_contracting.size(); ++i) {
    axes.emplace_back(lhs[dot.lhs_contracting[i]], absl::StrCat("r", i));
  }
  const bool outer_product = axes.empty();
  if (outer_product) axes.emplace_back(1, "r0");
  const auto find = [](const std::vector<int64_t>& list, int64_t value) {
    const auto it = std::find(list.begin(), list.end(), value);
    return it == list.end() ? -1 : static_cast<int>(it - list.begin());
  };
  // Operand index from result indices; `free` counts the result's free dimensions as they are used.
  const auto position = [&](const std::vector<int64_t>& dimensions, const std::vector<int64_t>& batch,
                            const std::vector<int64_t>& contracting, Indices indices, size_t& free) {
    std::vector<Expr> result;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      if (const int b = find(batch, static_cast<int64_t>(d)); b >= 0) {
        result.push_back(indices[b]);
      } else if (const int c = find(contracting, static_cast<int64_t>(d)); c >= 0) {
        result.push_back(axes[c]);
      } else {
        result.push_back(indices[free++]);
      }
    }
    return result;
  };
  return std::vector<Value>{EmitContraction(
      input, input.dimensions(),
      [&](Indices indices, PrimitiveType type) {
        size_t free = dot.lhs_batch.size();
        Expr a = input.operand(0).At(position(lhs, dot.lhs_batch, dot.lhs_contracting, indices, free));
        Expr b = input.operand(1).At(position(rhs, dot.rhs_batch, dot.rhs_contracting, indices, free));
        const DataType wide{type, 1};
        if (a.type() != wide) a = Cast(wide, a);
        if (b.type() != wide) b = Cast(wide, b);
        return Binary(type == PrimitiveType::kPred ? BinaryOp::kAnd : BinaryOp::kMul, a, b);
      },
      axes)};
}

}  // namespace smelt::kernels::te
