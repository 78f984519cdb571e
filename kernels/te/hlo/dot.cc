#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/te/hlo/rules.h"
#include "kernels/te/scalar.h"

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
                Expr total = sum(std::vector<Expr>(indices.begin(), indices.end()));
                if (ComputesInF16(input.type())) total = Cast({PrimitiveType::kF16, 1}, total);
                return Cast({input.type(), 1}, total);
              },
              "convert"),
          Expr()};
}

namespace {

// Result dimensions: batch, free dimensions of the left operand, free dimensions of the right one. `element` says what
// an operand holds at a position.
std::vector<Value> EmitDot(const RuleInput& input,
                           const std::function<Expr(int64_t operand, const std::vector<Expr>& position)>& element) {
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
  return {EmitContraction(
      input, input.dimensions(),
      [&](Indices indices, PrimitiveType type) {
        size_t free = dot.lhs_batch.size();
        Expr a = element(0, position(lhs, dot.lhs_batch, dot.lhs_contracting, indices, free));
        Expr b = element(1, position(rhs, dot.rhs_batch, dot.rhs_contracting, indices, free));
        const DataType wide{type, 1};
        if (a.type() != wide) a = Cast(wide, a);
        if (b.type() != wide) b = Cast(wide, b);
        return Binary(type == PrimitiveType::kPred ? BinaryOp::kAnd : BinaryOp::kMul, a, b);
      },
      axes)};
}

}  // namespace

absl::StatusOr<std::vector<Value>> DotRule(const RuleInput& input) {
  return EmitDot(
      input, [&](int64_t operand, const std::vector<Expr>& position) { return input.operand(operand).At(position); });
}

absl::Status CheckScaledDot(const hlo::Instruction& instruction) {
  for (int64_t i = 0; i < 2; ++i) {
    const std::vector<int64_t>& operand = instruction.operand(i)->shape().dimensions;
    const std::vector<int64_t>& scale = instruction.operand(i + 2)->shape().dimensions;
    bool divides = operand.size() == scale.size();
    for (size_t d = 0; divides && d < scale.size(); ++d) divides = operand[d] % scale[d] == 0;
    if (!divides) {
      return absl::UnimplementedError(absl::StrCat(instruction.name(), ": the scale ",
                                                   instruction.operand(i + 2)->shape().ToString(), " does not divide ",
                                                   instruction.operand(i)->shape().ToString()));
    }
  }
  return absl::OkStatus();
}

// Along every dimension one scale serves a block of elements; their product is rounded to bf16.
absl::StatusOr<std::vector<Value>> ScaledDotRule(const RuleInput& input) {
  return EmitDot(input, [&](int64_t operand, const std::vector<Expr>& position) {
    std::vector<Expr> block = position;
    for (size_t d = 0; d < block.size(); ++d) {
      block[d] = FloorDiv(block[d], input.operand_dimensions(operand)[d] / input.operand_dimensions(operand + 2)[d]);
    }
    const DataType type{PrimitiveType::kBF16, 1};
    return Binary(BinaryOp::kMul, Cast(type, input.operand(operand).At(position)),
                  Cast(type, input.operand(operand + 2).At(block)));
  });
}

}  // namespace smelt::kernels::te
