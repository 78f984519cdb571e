#include "targets/cpu/program/scalar_pattern.h"

#include <cmath>

#include "hlo/literal.h"

namespace smelt::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::ComparisonType;
using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using runtime::native::Combiner;
using runtime::native::Comparison;
using runtime::native::ElementType;

int64_t ParameterNumber(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kParameter) return -1;
  return instruction.attributes<hlo::ParameterAttributes>().number;
}

struct CombinerRow {
  Opcode opcode;
  Combiner combiner;
};
constexpr CombinerRow kCombiners[] = {
    {Opcode::kAdd, Combiner::kAdd},         {Opcode::kMultiply, Combiner::kMultiply},
    {Opcode::kMinimum, Combiner::kMinimum}, {Opcode::kMaximum, Combiner::kMaximum},
    {Opcode::kAnd, Combiner::kAnd},         {Opcode::kOr, Combiner::kOr},
    {Opcode::kXor, Combiner::kXor},
};

struct TypeRow {
  PrimitiveType type;
  ElementType native;
};
constexpr TypeRow kTypes[] = {
    {PrimitiveType::kPred, ElementType::kPred}, {PrimitiveType::kS8, ElementType::kS8},
    {PrimitiveType::kS16, ElementType::kS16},   {PrimitiveType::kS32, ElementType::kS32},
    {PrimitiveType::kS64, ElementType::kS64},   {PrimitiveType::kU8, ElementType::kU8},
    {PrimitiveType::kU16, ElementType::kU16},   {PrimitiveType::kU32, ElementType::kU32},
    {PrimitiveType::kU64, ElementType::kU64},   {PrimitiveType::kF16, ElementType::kF16},
    {PrimitiveType::kBF16, ElementType::kBF16}, {PrimitiveType::kF32, ElementType::kF32},
    {PrimitiveType::kF64, ElementType::kF64},   {PrimitiveType::kC64, ElementType::kC64},
    {PrimitiveType::kC128, ElementType::kC128},
};

struct ComparisonRow {
  ComparisonDirection direction;
  Comparison comparison;
  Comparison turned;  // of the operands exchanged
};
constexpr ComparisonRow kComparisons[] = {
    {ComparisonDirection::kLt, Comparison::kLess, Comparison::kGreater},
    {ComparisonDirection::kLe, Comparison::kLessEqual, Comparison::kGreaterEqual},
    {ComparisonDirection::kGt, Comparison::kGreater, Comparison::kLess},
    {ComparisonDirection::kGe, Comparison::kGreaterEqual, Comparison::kLessEqual},
};

bool IsTotalOrder(const Instruction& compare) {
  return compare.attributes<hlo::CompareAttributes>().type == ComparisonType::kFloatTotalOrder;
}

// A comparison that holds the values of a float apart as the processor does.
bool IsPlainCompare(const Instruction& instruction, ComparisonDirection direction) {
  return instruction.opcode() == Opcode::kCompare && !IsTotalOrder(instruction) &&
         instruction.attributes<hlo::CompareAttributes>().direction == direction;
}

bool IsConstant(const Instruction& instruction, bool (*test)(double)) {
  return instruction.opcode() == Opcode::kConstant && hlo::IsFloat(instruction.shape().element_type) &&
         instruction.shape().IsScalar() && test(instruction.literal().GetDouble(0));
}

// A parameter, perhaps with its zeros and its NaN made equal: select(x == 0, 0, x), select(x != x, NaN, x).
struct KeyExpression {
  int64_t parameter = -1;
  bool zeros_equal = false, nans_last = false;

  bool SameOrder(const KeyExpression& other) const {
    return zeros_equal == other.zeros_equal && nans_last == other.nans_last;
  }
};

std::optional<KeyExpression> MatchKey(const Instruction& instruction) {
  if (const int64_t parameter = ParameterNumber(instruction); parameter >= 0) return KeyExpression{parameter};
  if (instruction.opcode() != Opcode::kSelect) return std::nullopt;
  std::optional<KeyExpression> key = MatchKey(*instruction.operand(2));
  if (!key.has_value()) return std::nullopt;
  const Instruction &condition = *instruction.operand(0), &value = *instruction.operand(1);
  const auto is_key = [&](const Instruction& x) { return ParameterNumber(x) == key->parameter; };
  const auto is_zero = [](const Instruction& x) { return IsConstant(x, [](double v) { return v == 0; }); };
  const auto is_positive_zero = [](double v) { return v == 0 && !std::signbit(v); };
  if (IsPlainCompare(condition, ComparisonDirection::kNe) && is_key(*condition.operand(0)) &&
      is_key(*condition.operand(1)) && IsConstant(value, [](double v) { return std::isnan(v) && !std::signbit(v); })) {
    key->nans_last = true;
    return key;
  }
  if (IsPlainCompare(condition, ComparisonDirection::kEq) && IsConstant(value, is_positive_zero) &&
      ((is_key(*condition.operand(0)) && is_zero(*condition.operand(1))) ||
       (is_key(*condition.operand(1)) && is_zero(*condition.operand(0))))) {
    key->zeros_equal = true;
    return key;
  }
  return std::nullopt;
}

// A comparison of a key of the one element with the same key of the other.
struct KeyComparison {
  int64_t operand = -1;
  KeyExpression key;
  bool total_order = true;  // integers are
  Comparison comparison = Comparison::kLess;
  bool equal = false;  // == in place of an order
};

std::optional<KeyComparison> MatchComparison(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCompare) return std::nullopt;
  std::optional<KeyExpression> first = MatchKey(*instruction.operand(0)), second = MatchKey(*instruction.operand(1));
  if (!first.has_value() || !second.has_value() || !first->SameOrder(*second)) return std::nullopt;
  if (first->parameter / 2 != second->parameter / 2 || first->parameter == second->parameter) return std::nullopt;
  const PrimitiveType type = instruction.operand(0)->shape().element_type;
  if (hlo::IsComplex(type)) return std::nullopt;
  KeyComparison result;
  result.operand = first->parameter / 2;
  result.key = *first;
  result.total_order = !hlo::IsFloat(type) || IsTotalOrder(instruction);
  const ComparisonDirection direction = instruction.attributes<hlo::CompareAttributes>().direction;
  if (direction == ComparisonDirection::kEq) {
    result.equal = true;
    return result;
  }
  for (const ComparisonRow& row : kComparisons) {
    if (row.direction != direction) continue;
    result.comparison = first->parameter % 2 == 0 ? row.comparison : row.turned;
    return result;
  }
  return std::nullopt;
}

bool IsStrict(const KeyComparison& comparison) {
  return !comparison.equal &&
         (comparison.comparison == Comparison::kLess || comparison.comparison == Comparison::kGreater);
}

void AddKey(const KeyComparison& comparison, runtime::native::SortPlan* plan) {
  runtime::native::SortKey key;
  key.operand = static_cast<int>(comparison.operand);
  key.order.descending =
      comparison.comparison == Comparison::kGreater || comparison.comparison == Comparison::kGreaterEqual;
  key.order.zeros_equal = comparison.key.zeros_equal || !comparison.total_order;
  key.order.nans_last = comparison.key.nans_last;
  plan->keys.push_back(key);
}

// less(k) or (equal(k) and rest): in either order.
bool MatchLexicographic(const Instruction& instruction, runtime::native::SortPlan* plan) {
  if (const std::optional<KeyComparison> last = MatchComparison(instruction)) {
    if (!IsStrict(*last) || !last->total_order) return false;
    AddKey(*last, plan);
    return true;
  }
  if (instruction.opcode() != Opcode::kOr) return false;
  for (int64_t side = 0; side < 2; ++side) {
    const std::optional<KeyComparison> less = MatchComparison(*instruction.operand(side));
    const Instruction& rest = *instruction.operand(1 - side);
    if (!less.has_value() || !IsStrict(*less) || !less->total_order || rest.opcode() != Opcode::kAnd) continue;
    for (int64_t other = 0; other < 2; ++other) {
      const std::optional<KeyComparison> equal = MatchComparison(*rest.operand(other));
      if (!equal.has_value() || !equal->equal || equal->operand != less->operand || !equal->total_order ||
          !equal->key.SameOrder(less->key)) {
        continue;
      }
      AddKey(*less, plan);
      return MatchLexicographic(*rest.operand(1 - other), plan);
    }
  }
  return false;
}

}  // namespace

std::optional<Combiner> CombinerOf(const hlo::Computation& computation, int64_t i, int64_t n) {
  const Instruction* root = computation.root();
  if (root->opcode() == Opcode::kTuple) {
    if (i >= root->operand_count()) return std::nullopt;
    root = root->operand(i);
  }
  if (ParameterNumber(*root) == n + i) return Combiner::kReplace;
  // Small floats are combined in f32 and rounded, whether the computation says so or not.
  const PrimitiveType type = root->shape().element_type;
  const auto widened = [type](const Instruction* x) {
    const bool widens = x->opcode() == Opcode::kConvert && x->shape().element_type == PrimitiveType::kF32 &&
                        x->operand(0)->shape().element_type == type;
    return widens ? x->operand(0) : x;
  };
  if (root->opcode() == Opcode::kConvert && (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16) &&
      root->operand(0)->shape().element_type == PrimitiveType::kF32) {
    root = root->operand(0);
  }
  for (const CombinerRow& row : kCombiners) {
    if (root->opcode() != row.opcode) continue;
    const int64_t first = ParameterNumber(*widened(root->operand(0))),
                  second = ParameterNumber(*widened(root->operand(1)));
    if ((first == i && second == n + i) || (first == n + i && second == i)) return row.combiner;
  }
  return std::nullopt;
}

std::optional<Comparison> ComparisonOf(const hlo::Computation& computation) {
  const std::optional<KeyComparison> match = MatchComparison(*computation.root());
  if (!match.has_value() || match->equal || match->key.zeros_equal || match->key.nans_last) return std::nullopt;
  if (hlo::IsFloat(computation.root()->operand(0)->shape().element_type) && match->total_order) return std::nullopt;
  return match->comparison;
}

bool MatchComparator(const hlo::Computation& computation, runtime::native::SortPlan* plan) {
  const std::optional<KeyComparison> single = MatchComparison(*computation.root());
  if (!single.has_value()) return MatchLexicographic(*computation.root(), plan);
  if (single->equal) return false;
  // Keys that are made equal before, in floating-point order, would need NaN to compare as false.
  if (!single->total_order && (single->key.zeros_equal || single->key.nans_last)) return false;
  AddKey(*single, plan);
  plan->ties_reversed = !IsStrict(*single);
  plan->partial_order = !single->total_order;
  return true;
}

std::optional<ElementType> NativeType(PrimitiveType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row.native;
  }
  return std::nullopt;
}

}  // namespace smelt::cpu
