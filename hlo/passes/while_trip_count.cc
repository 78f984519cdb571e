#include "hlo/passes/while_trip_count.h"

#include "hlo/computation.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/swapped_comparison.h"

namespace smelt::hlo {
namespace {

// An instruction of a loop's body or condition, or one within a fusion of it.
struct Place {
  const Instruction* x;
  const Instruction* fusion = nullptr;

  Place Operand(int64_t i) const {
    const Instruction* operand = x->operand(i);
    if (fusion == nullptr || operand->opcode() != Opcode::kParameter) return {operand, fusion};
    return {fusion->operand(operand->attributes<ParameterAttributes>().number)};
  }
};

// What computes a value: a fusion's root where that is a fusion's result.
Place Producer(const Instruction* x) {
  if (x->opcode() == Opcode::kFusion && x->called(0)->root()->opcode() != Opcode::kTuple)
    return {x->called(0)->root(), x};
  if (x->opcode() != Opcode::kGetTupleElement || x->operand(0)->opcode() != Opcode::kFusion) return {x};
  const Instruction* root = x->operand(0)->called(0)->root();
  if (root->opcode() != Opcode::kTuple) return {x};
  return {root->operand(x->attributes<TupleIndexAttributes>().index), x->operand(0)};
}

// The index of the element of the computation's parameter that a value is.
std::optional<int64_t> ElementOfState(const Place& place) {
  const Instruction& x = *place.x;
  if (place.fusion != nullptr || x.opcode() != Opcode::kGetTupleElement ||
      x.operand(0)->opcode() != Opcode::kParameter) {
    return std::nullopt;
  }
  return x.attributes<TupleIndexAttributes>().index;
}

std::optional<int64_t> IntegerConstant(const Place& place) {
  const Instruction& x = *place.x;
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
  const Place condition = Producer(loop.called(1)->root());
  const Instruction* body = loop.called(0)->root();
  const Instruction* init = loop.operand(0);
  if (condition.x->opcode() != Opcode::kCompare || body->opcode() != Opcode::kTuple ||
      init->opcode() != Opcode::kTuple) {
    return std::nullopt;
  }
  ComparisonDirection direction = condition.x->attributes<CompareAttributes>().direction;
  std::optional<int64_t> index = ElementOfState(condition.Operand(0));
  std::optional<int64_t> bound = IntegerConstant(condition.Operand(1));
  if (!index) {
    index = ElementOfState(condition.Operand(1));
    bound = IntegerConstant(condition.Operand(0));
    direction = Swapped(direction);
  }
  if (!index || !bound || *index >= body->operand_count() || *index >= init->operand_count()) return std::nullopt;
  const std::optional<int64_t> start = IntegerConstant({init->operand(*index)});
  if (!start) return std::nullopt;
  const PrimitiveType type = init->operand(*index)->shape().element_type;

  const Place next = Producer(body->operand(*index));
  std::optional<int64_t> step;
  if (next.x->opcode() == Opcode::kAdd) {
    for (int side = 0; side < 2 && !step; ++side) {
      if (ElementOfState(next.Operand(side)) == index) step = IntegerConstant(next.Operand(1 - side));
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
