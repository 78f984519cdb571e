#include "fusion/heuristics/xla_cpu_rules.h"

#include <algorithm>
#include <vector>

#include "hlo/computation.h"
#include "hlo/literal.h"

namespace smelt::fusion::xla_cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;

constexpr int64_t kConcatenateOperands = 8;
constexpr int64_t kConcatenateMinorExtent = 128;
constexpr int64_t kVectorBytes = 16 << 10;

// Beside the elementwise opcodes.
constexpr Opcode kLoopFusible[] = {
    Opcode::kBitcast, Opcode::kBroadcast, Opcode::kConcatenate, Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
    Opcode::kGather,  Opcode::kIota,      Opcode::kPad,         Opcode::kReduce,       Opcode::kReshape,
    Opcode::kReverse, Opcode::kSlice,     Opcode::kTranspose,
};

// What is not listed is expensive, or has rules of its own in IsExpensive.
constexpr Opcode kCheap[] = {
    Opcode::kAdd,
    Opcode::kAnd,
    Opcode::kBitcast,
    Opcode::kBitcastConvert,
    Opcode::kBroadcast,
    Opcode::kCeil,
    Opcode::kClamp,
    Opcode::kClz,
    Opcode::kCompare,
    Opcode::kComplex,
    Opcode::kConcatenate,
    Opcode::kConstant,
    Opcode::kCopy,
    Opcode::kDynamicReshape,
    Opcode::kDynamicSlice,
    Opcode::kDynamicUpdateSlice,
    Opcode::kFloor,
    Opcode::kGetTupleElement,
    Opcode::kImag,
    Opcode::kIota,
    Opcode::kIsFinite,
    Opcode::kMaximum,
    Opcode::kMinimum,
    Opcode::kMulhi,
    Opcode::kMultiply,
    Opcode::kNegate,
    Opcode::kNot,
    Opcode::kOptimizationBarrier,
    Opcode::kOr,
    Opcode::kPad,
    Opcode::kPopulationCount,
    Opcode::kReal,
    Opcode::kReducePrecision,
    Opcode::kReshape,
    Opcode::kReverse,
    Opcode::kRoundNearestAfz,
    Opcode::kRoundNearestEven,
    Opcode::kSelect,
    Opcode::kShiftLeft,
    Opcode::kShiftRightArithmetic,
    Opcode::kShiftRightLogical,
    Opcode::kSlice,
    Opcode::kStochasticConvert,
    Opcode::kSubtract,
    Opcode::kTranspose,
    Opcode::kTuple,
    Opcode::kXor,
};

constexpr Opcode kExpensiveIfComplex[] = {Opcode::kAbs, Opcode::kSign, Opcode::kCos, Opcode::kSin, Opcode::kTan};

constexpr Opcode kStartsBlocks[] = {Opcode::kConcatenate, Opcode::kDot,    Opcode::kDynamicUpdateSlice,
                                    Opcode::kPad,         Opcode::kReduce, Opcode::kReduceWindow};

constexpr Opcode kPermuting[] = {Opcode::kBitcast, Opcode::kConcatenate, Opcode::kReshape,
                                 Opcode::kReverse, Opcode::kSlice,       Opcode::kTranspose};

template <size_t n>
bool Contains(const Opcode (&list)[n], Opcode opcode) {
  return std::find(std::begin(list), std::end(list), opcode) != std::end(list);
}

int64_t TrueRank(const Shape& shape) {
  return shape.rank() - std::count(shape.dimensions.begin(), shape.dimensions.end(), 1);
}

int64_t TotalElements(const Shape& shape) {
  std::vector<const Shape*> leaves;
  shape.AppendLeaves(&leaves);
  int64_t total = 0;
  for (const Shape* leaf : leaves) total += leaf->IsArray() ? leaf->ElementCount() : 0;
  return total;
}

int64_t MinorDimension(const Shape& shape) {
  return shape.layout.has_value() && !shape.layout->minor_to_major.empty() ? shape.layout->minor_to_major[0]
                                                                           : shape.rank() - 1;
}

bool IsScalarConstant(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConstant && instruction.shape().IsArray() &&
         IsEffectiveScalar(instruction.shape());
}

Use Both(Use a, Use b) {
  if (a == Use::kNone) return b;
  if (b == Use::kNone) return a;
  return a == Use::kOnce && b == Use::kOnce ? Use::kOnce : Use::kReuse;
}

bool IsBroadcastOf(const Instruction& instruction, const Instruction& operand) {
  return instruction.opcode() == Opcode::kBroadcast && instruction.operand(0) == &operand;
}

}  // namespace

Use OperandUse(const Instruction& consumer, int64_t i) {
  const Opcode opcode = consumer.opcode();
  if (Contains(kPermuting, opcode)) return Use::kPermute;
  switch (opcode) {
    case Opcode::kPad:
      return i == 0 ? Use::kPermute : Use::kReuse;
    case Opcode::kReduce:
      return i < consumer.operand_count() / 2 ? Use::kPermute : Use::kReuse;
    case Opcode::kDynamicUpdateSlice:
      return i < 2 ? Use::kOnce : Use::kReuse;
    case Opcode::kGather:
      return i == 0 ? Use::kPermute : Use::kOnce;
    case Opcode::kDot: {
      const Shape& shape = consumer.shape();
      return shape.rank() == 2 && i < 2 && shape.dimensions[1 - i] == 1 ? Use::kOnce : Use::kReuse;
    }
    default:
      break;
  }
  const Shape& operand = consumer.operand(i)->shape();
  return IsElementwise(consumer) && operand.dimensions == consumer.shape().dimensions ? Use::kOnce : Use::kReuse;
}

Use OperandUse(const Instruction& consumer, const Instruction& operand) {
  Use use = Use::kNone;
  for (int64_t i = 0; i < consumer.operand_count() && use != Use::kReuse; ++i) {
    if (consumer.operand(i) == &operand) use = Both(use, OperandUse(consumer, i));
  }
  return use;
}

bool IsElementwise(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return hlo::IsElementwise(opcode) || opcode == Opcode::kConstant || opcode == Opcode::kIota ||
         opcode == Opcode::kBitcastConvert || opcode == Opcode::kMap;
}

bool IsLoopFusible(const Instruction& instruction) {
  return IsElementwise(instruction) || Contains(kLoopFusible, instruction.opcode());
}

bool MayBeFused(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  return opcode != Opcode::kParameter && opcode != Opcode::kDomain && !hlo::HasFlag(opcode, hlo::kSideEffect);
}

bool IsExpensive(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (Contains(kCheap, opcode)) return false;
  if (Contains(kExpensiveIfComplex, opcode)) return hlo::IsComplex(instruction.shape().element_type);
  switch (opcode) {
    case Opcode::kConvert:  // rounding to bf16 takes several checks
      return instruction.shape().element_type == PrimitiveType::kBF16 &&
             instruction.operand(0)->shape().element_type == PrimitiveType::kF32;
    case Opcode::kDivide:
    case Opcode::kRemainder: {
      // XLA means divisors that are known, whose division becomes a multiplication, but looks at the dividend.
      const Instruction& known = *instruction.operand(0);
      const bool constant =
          IsScalarConstant(known) || (known.opcode() == Opcode::kBroadcast && IsScalarConstant(*known.operand(0)));
      return !hlo::IsInteger(instruction.shape().element_type) || !constant;
    }
    default:
      return true;
  }
}

bool IsAlwaysDuplicable(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kBroadcast) return true;
  return instruction.opcode() == Opcode::kConvert &&
         instruction.operand(0)->shape().ByteSize() < instruction.shape().ByteSize();
}

bool IsEffectivelyUnary(const Instruction& instruction) {
  std::vector<const Shape*> leaves;
  instruction.shape().AppendLeaves(&leaves);
  int64_t rank = 0;
  for (const Shape* leaf : leaves) rank = std::max(rank, TrueRank(*leaf));
  int large = 0;
  for (const Instruction* operand : instruction.operands()) {
    if (operand->opcode() == Opcode::kBroadcast || operand->opcode() == Opcode::kIota || IsScalarConstant(*operand)) {
      continue;
    }
    large += TrueRank(operand->shape()) >= rank;
  }
  return large <= 1;
}

bool ReadsMoreThanItWrites(const Instruction& instruction) {
  std::vector<const Instruction*> operands(instruction.operands().begin(), instruction.operands().end());
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  int64_t elements = 0;
  for (const Instruction* operand : operands) elements += TotalElements(operand->shape());
  return elements > TotalElements(instruction.shape());
}

bool IsEffectiveScalar(const Shape& shape) { return shape.IsArray() && TrueRank(shape) == 0; }

bool SameIndexSpace(const Shape& a, const Shape& b) {
  if (!a.IsArray() || !b.IsArray() || a.dimensions != b.dimensions) return false;
  if (a.HasDefaultLayout() || b.HasDefaultLayout()) return a.HasDefaultLayout() && b.HasDefaultLayout();
  return a.layout->minor_to_major == b.layout->minor_to_major;
}

bool IsCopyingConcatenate(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kConcatenate) return false;
  if (instruction.operand_count() > kConcatenateOperands) return true;
  const int64_t dimension = instruction.attributes<hlo::DimensionsAttributes>().dimensions[0];
  return instruction.shape().rank() > 1 && dimension == MinorDimension(instruction.shape()) &&
         instruction.shape().dimensions[dimension] >= kConcatenateMinorExtent;
}

bool IsVectorDot(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kDot && instruction.shape().rank() <= 1 &&
         !hlo::IsComplex(instruction.shape().element_type) &&
         instruction.attributes<hlo::DotAttributes>().lhs_batch.empty();
}

bool IsMatrixOfShortVectorDot(const Instruction& dot, int64_t operand) {
  if (dot.opcode() != Opcode::kDot || dot.shape().rank() > 1 || operand > 1) return false;
  const Shape& vector = dot.operand(1 - operand)->shape();
  return vector.rank() == 1 && vector.ByteSize() < kVectorBytes;
}

bool StartsBlocks(const Instruction& instruction) { return Contains(kStartsBlocks, instruction.opcode()); }

bool IsSoftmaxInput(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kMultiply) return false;
  const Instruction* maximum = nullptr;
  for (const Instruction* user : instruction.users()) {
    if (user->opcode() == Opcode::kReduce && user->operand(0) == &instruction &&
        user->called(0)->root()->opcode() == Opcode::kMaximum) {
      maximum = user;
      break;
    }
  }
  if (maximum == nullptr) return false;
  return std::any_of(instruction.users().begin(), instruction.users().end(), [&](const Instruction* difference) {
    if (difference->opcode() != Opcode::kSubtract) return false;
    const auto either = [&](auto is) { return is(*difference->operand(0)) || is(*difference->operand(1)); };
    return either([&](const Instruction& x) { return IsBroadcastOf(x, *maximum); }) &&
           either([&](const Instruction& x) { return &x == &instruction || IsBroadcastOf(x, instruction); }) &&
           std::any_of(difference->users().begin(), difference->users().end(),
                       [](const Instruction* user) { return user->opcode() == Opcode::kExp; });
  });
}

}  // namespace smelt::fusion::xla_cpu
