#include "hlo/passes/while_trip_count.h"

#include "hlo/computation.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/swapped_comparison.h"

namespace smelt::hlo {
namespace {

// The index of the element of the computation's parameter that an instruction is.
std::optional<int64_t> ElementOfState(const Instruction& x) {
  if (x.opcode() != Opcode::kGetTupleElement || x.operand(0)->opcode() != Opcode::kParameter) return std::nullopt;
  return x.attributes<TupleIndexAttributes>().index;
}

std::optional<int64_t> IntegerConstant(const Instruction& x) {
  if (!x.shape().IsArray() || x.shape().ElementCount() != 1 || !IsInteger(x.shape().element_type)) return std::nullopt;
  const Literal* literal = UniformLiteral(x);
  if (literal == nullptr) return std::nullopt;
  const int64_t value = literal->GetInteger(0);
  if (x.shape().element_type == PrimitiveType::kU64 && value < 0) return std::nullopt;
  return value;
}

using Wide = __int128;

// Steps until start + n * step no longer satisfies the comparison with the bound.
std::optional<Wide> Steps(Wide start, Wide step, ComparisonDirection direction, Wide bound) {
  switch (direction) {
    case ComparisonDirection::kLe:
      return Steps(start, step, ComparisonDirection::kLt, bound + 1);
    case ComparisonDirection::kGe:
      return Steps(start, step, ComparisonDirection::kGt, bound - 1);
    case ComparisonDirection::kLt:
      if (start >= bound) return 0;
      if (step <= 0) return std::nullopt;
      return (bound - start + step - 1) / step;
    case ComparisonDirection::kGt:
      return Steps(-start, -step, ComparisonDirection::kLt, -bound);
    case ComparisonDirection::kNe:
      if (start == bound) return 0;
      if (step == 0 || (bound - start) % step != 0 || (bound - start) / step < 0) return std::nullopt;
      return (bound - start) / step;
    case ComparisonDirection::kEq:
      if (start != bound) return 0;
      return step == 0 ? std::nullopt : std::optional<Wide>(1);
  }
  return std::nullopt;
}

bool Fits(Wide value, PrimitiveType type) {
  const int bits = BitWidth(type);
  if (IsUnsigned(type)) return value >= 0 && value < (Wide{1} << bits);
  return value >= -(Wide{1} << (bits - 1)) && value < (Wide{1} << (bits - 1));
}

}  // namespace

std::optional<int64_t> TripCount(const Instruction& loop) {
  const Instruction* condition = loop.called(1)->root();
  const Instruction* body = loop.called(0)->root();
  const Instruction* init = loop.operand(0);
  if (condition->opcode() != Opcode::kCompare || body->opcode() != Opcode::kTuple || init->opcode() != Opcode::kTuple) {
    return std::nullopt;
  }
  ComparisonDirection direction = condition->attributes<CompareAttributes>().direction;
  std::optional<int64_t> index = ElementOfState(*condition->operand(0));
  std::optional<int64_t> bound = IntegerConstant(*condition->operand(1));
  if (!index) {
    index = ElementOfState(*condition->operand(1));
    bound = IntegerConstant(*condition->operand(0));
    direction = Swapped(direction);
  }
  if (!index || !bound || *index >= body->operand_count() || *index >= init->operand_count()) return std::nullopt;
  const std::optional<int64_t> start = IntegerConstant(*init->operand(*index));
  if (!start) return std::nullopt;
  const PrimitiveType type = init->operand(*index)->shape().element_type;

  const Instruction& next = *body->operand(*index);
  std::optional<int64_t> step;
  if (next.opcode() == Opcode::kAdd) {
    for (int side = 0; side < 2 && !step; ++side) {
      if (ElementOfState(*next.operand(side)) == index) step = IntegerConstant(*next.operand(1 - side));
    }
  } else if (ElementOfState(next) == index) {
    step = 0;
  }
  // Whether the loop starts at all needs no step.
  const std::optional<Wide> steps = Steps(*start, step.value_or(0), direction, *bound);
  if (!steps || (!step && *steps != 0)) return std::nullopt;
  if (!Fits(Wide{*start} + *steps * step.value_or(0), type) || *steps > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(*steps);
}

}  // namespace smelt::hlo
