#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/te/hlo/from_hlo.h"
#include "kernels/te/hlo/rules.h"
#include "kernels/te/scalar.h"

namespace smelt::kernels::te {

Value WidenedOperand(const RuleInput& input, const Value& operand, const std::vector<int64_t>& dimensions,
                     PrimitiveType type, std::string_view suffix) {
  if (operand.IsUniform()) return operand;
  const PrimitiveType from = operand.tensor.type();
  const bool slow = hlo::IsFloat(from) ? hlo::BitWidth(from) <= 8 : hlo::IsInteger(from) && hlo::BitWidth(from) < 8;
  if (!slow || from == type) return operand;
  return {Compute(
              absl::StrCat(input.name, std::string(suffix)), dimensions,
              [&](Indices indices) {
                return Cast({type, 1}, operand.At(std::vector<Expr>(indices.begin(), indices.end())));
              },
              "convert"),
          Expr()};
}

Value EmitContraction(const RuleInput& input, const std::vector<int64_t>& shape,
                      const std::function<Expr(Indices, PrimitiveType)>& source, const std::vector<ReduceAxis>& axes,
                      std::string_view suffix) {
  const PrimitiveType accumulator = AccumulatorType(input.type());
  const bool rounds = accumulator != input.type();
  const std::string name = absl::StrCat(input.name, std::string(suffix));
  // A dot whose operands are scaled first is a dot.
  const hlo::Opcode opcode = input.instruction.opcode();
  const std::string tag(hlo::OpcodeName(opcode == hlo::Opcode::kScaledDot ? hlo::Opcode::kDot : opcode));
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

// Result dimensions: batch, free dimensions of the left operand, free dimensions of the right one. `left` and `right`
// have the dimensions of the first two operands.
std::vector<Value> EmitDot(const RuleInput& input, const Value& left, const Value& right) {
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
        Expr a = left.At(position(lhs, dot.lhs_batch, dot.lhs_contracting, indices, free));
        Expr b = right.At(position(rhs, dot.rhs_batch, dot.rhs_contracting, indices, free));
        const DataType wide{type, 1};
        if (a.type() != wide) a = Cast(wide, a);
        if (b.type() != wide) b = Cast(wide, b);
        return Binary(type == PrimitiveType::kPred ? BinaryOp::kAnd : BinaryOp::kMul, a, b);
      },
      axes)};
}

// A matrix times its own transpose, as of all pairs of rows: what vectors run over lies along neither operand.
bool IsTimesItsTranspose(const RuleInput& input, const Value& left, const Value& right) {
  if (left.IsUniform() || right.IsUniform()) return false;
  if (left.tensor.op != right.tensor.op || left.tensor.output != right.tensor.output) return false;
  const std::vector<int64_t>& summed = input.instruction.attributes<hlo::DotAttributes>().rhs_contracting;
  const auto last = static_cast<int64_t>(input.operand_dimensions(1).size()) - 1;
  return std::find(summed.begin(), summed.end(), last) != summed.end();
}

// Its right operand as a tensor of its own, so that it can be packed.
Value ReadAgain(const RuleInput& input, const Value& right) {
  return {Compute(
              absl::StrCat(input.name, "_rhs"), input.operand_dimensions(1),
              [&](Indices indices) { return right.At(std::vector<Expr>(indices.begin(), indices.end())); },
              std::string(kReadAgain)),
          Expr()};
}

}  // namespace

absl::StatusOr<std::vector<Value>> DotRule(const RuleInput& input) {
  const PrimitiveType type = AccumulatorType(input.type());
  const Value left = WidenedOperand(input, input.operand(0), input.operand_dimensions(0), type, "_lhs");
  const Value right = WidenedOperand(input, input.operand(1), input.operand_dimensions(1), type, "_rhs");
  return EmitDot(input, left, IsTimesItsTranspose(input, left, right) ? ReadAgain(input, right) : right);
}

// Along every dimension one scale serves a block of elements; their product is rounded to bf16.
absl::StatusOr<std::vector<Value>> ScaledDotRule(const RuleInput& input) {
  const auto scaled = [&](int64_t operand, std::string_view suffix) -> Value {
    return {Compute(
                absl::StrCat(input.name, std::string(suffix)), input.operand_dimensions(operand),
                [&](Indices indices) {
                  const std::vector<Expr> position(indices.begin(), indices.end());
                  std::vector<Expr> block = position;
                  for (size_t d = 0; d < block.size(); ++d) {
                    block[d] = FloorDiv(
                        block[d], input.operand_dimensions(operand)[d] / input.operand_dimensions(operand + 2)[d]);
                  }
                  const DataType type{PrimitiveType::kBF16, 1}, sum{AccumulatorType(input.type()), 1};
                  return Cast(sum, Binary(BinaryOp::kMul, Cast(type, input.operand(operand).At(position)),
                                          Cast(type, input.operand(operand + 2).At(block))));
                },
                "scale"),
            Expr()};
  };
  return EmitDot(input, scaled(0, "_lhs"), scaled(1, "_rhs"));
}

}  // namespace smelt::kernels::te
