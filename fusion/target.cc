#include "fusion/target.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "hlo/computation.h"
#include "hlo/literal.h"

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

bool LoopType(PrimitiveType type) { return type == PrimitiveType::kPred || hlo::IsInteger(type) || hlo::IsFloat(type); }

// Beside the elementwise opcodes.
constexpr Opcode kLoopOpcodes[] = {
    Opcode::kConstant,
    Opcode::kIota,
    Opcode::kMap,
    Opcode::kBroadcast,
    Opcode::kReshape,
    Opcode::kBitcast,
    Opcode::kTranspose,
    Opcode::kSlice,
    Opcode::kReverse,
    Opcode::kPad,
    Opcode::kConcatenate,
    Opcode::kDynamicSlice,
    Opcode::kDynamicUpdateSlice,
    Opcode::kGather,
    Opcode::kReduce,
    Opcode::kReduceWindow,
    Opcode::kDot,
    Opcode::kConvolution,
    Opcode::kBitcastConvert,
};

// What has a loop nest of complex numbers; IsComplexLoop has the conditions.
constexpr Opcode kComplexOpcodes[] = {
    Opcode::kConstant, Opcode::kCopy,     Opcode::kNegate,    Opcode::kAdd,         Opcode::kSubtract,
    Opcode::kSelect,   Opcode::kReshape,  Opcode::kBroadcast, Opcode::kBitcast,     Opcode::kTranspose,
    Opcode::kSlice,    Opcode::kReverse,  Opcode::kPad,       Opcode::kConcatenate, Opcode::kDynamicSlice,
    Opcode::kGather,   Opcode::kMultiply, Opcode::kDivide,    Opcode::kComplex,     Opcode::kReal,
    Opcode::kImag,     Opcode::kAbs,      Opcode::kCompare,   Opcode::kConvert,     Opcode::kExp,
    Opcode::kMaximum,  Opcode::kMinimum,
};

constexpr Opcode kScalarComputationOpcodes[] = {
    Opcode::kParameter, Opcode::kConstant, Opcode::kTuple, Opcode::kBroadcast, Opcode::kReshape, Opcode::kBitcast,
};

template <size_t n, typename T>
bool Contains(const T (&list)[n], T value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

bool LoopShape(const hlo::Shape& shape) {
  if (shape.IsTuple()) {
    return std::all_of(shape.tuple_shapes.begin(), shape.tuple_shapes.end(),
                       [](const hlo::Shape& s) { return s.IsArray() && LoopShape(s); });
  }
  return shape.IsArray() && LoopType(shape.element_type) && !shape.IsDynamic() && shape.ElementCount() > 0;
}

bool IsComplexArray(const hlo::Shape& shape) {
  return shape.IsArray() && hlo::IsComplex(shape.element_type) && !shape.IsDynamic() && shape.ElementCount() > 0;
}

bool HasComplexNumbers(const Instruction& instruction) {
  return IsComplexArray(instruction.shape()) ||
         std::any_of(instruction.operands().begin(), instruction.operands().end(),
                     [](const Instruction* operand) { return IsComplexArray(operand->shape()); });
}

bool IsFiniteDivisor(const Instruction* divisor) {
  while (divisor->opcode() == Opcode::kBroadcast) divisor = divisor->operand(0);
  if (divisor->opcode() != Opcode::kConstant || divisor->literal().element_count() != 1) return false;
  const std::complex<double> value = divisor->literal().GetComplex(0);
  return std::isfinite(value.real()) && std::isfinite(value.imag()) && value != 0.0;
}

bool IsComplexLoop(const Instruction& instruction) {
  const PrimitiveType type = instruction.shape().element_type;
  if (!Contains(kComplexOpcodes, instruction.opcode())) return false;
  const bool narrow =
      instruction.operand_count() > 0 && instruction.operand(0)->shape().element_type == PrimitiveType::kC64;
  switch (instruction.opcode()) {
    case Opcode::kBitcast:
      return instruction.operand(0)->shape().element_type == type;
    case Opcode::kAbs:
    case Opcode::kExp:
      return narrow;
    case Opcode::kDivide:
      return narrow || IsFiniteDivisor(instruction.operand(1));
    default:
      return true;
  }
}

bool ElementwiseLoop(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kStochasticConvert:
      return hlo::IsFloat(instruction.operand(0)->shape().element_type) &&
             hlo::IsInteger(instruction.shape().element_type);
    case Opcode::kReducePrecision:
      return instruction.attributes<hlo::ReducePrecisionAttributes>().exponent_bits >= 1;
    default:
      return true;
  }
}

bool ScalarComputation(const hlo::Computation& computation) {
  for (const Instruction* instruction : computation.Instructions()) {
    const Opcode opcode = instruction->opcode();
    if (opcode == Opcode::kTuple ? instruction != computation.root() : !instruction->shape().IsScalar()) return false;
    if (opcode != Opcode::kTuple && !LoopShape(instruction->shape())) return false;
    if (Contains(kScalarComputationOpcodes, opcode)) continue;
    if (!hlo::IsElementwise(opcode) || !ElementwiseLoop(*instruction)) return false;
  }
  return true;
}

bool SameBits(const Instruction& instruction) {
  const hlo::Shape& from = instruction.operand(0)->shape();
  const hlo::Shape& to = instruction.shape();
  return hlo::BitWidth(from.element_type) == hlo::BitWidth(to.element_type) && from.ElementCount() == to.ElementCount();
}

}  // namespace

bool MayHaveLoopNest(Opcode opcode) { return hlo::IsElementwise(opcode) || Contains(kLoopOpcodes, opcode); }

bool HasLoopNest(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (!MayHaveLoopNest(opcode)) return false;
  if (hlo::IsElementwise(opcode) && !ElementwiseLoop(instruction)) return false;
  const auto has_loops = [](const hlo::Shape& shape) { return IsComplexArray(shape) || LoopShape(shape); };
  if (!has_loops(instruction.shape())) return false;
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsArray() || !has_loops(operand->shape())) return false;
  }
  if (HasComplexNumbers(instruction) && !IsComplexLoop(instruction)) return false;
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
      return SameBits(instruction);
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return instruction.called().size() == 1 && ScalarComputation(*instruction.called(0));
    default:
      return true;
  }
}

double ElementCost(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kMap:
      return static_cast<double>(instruction.called(0)->instruction_count());
    case Opcode::kGather:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
      return 1;
    case Opcode::kConvert:
    case Opcode::kCopy:
      return 0;
    default:
      break;
  }
  if (!hlo::IsElementwise(instruction.opcode())) return 0;
  return hlo::HasFlag(instruction.opcode(), hlo::kExpensive) ? 8 : 1;
}

FusionTarget FusionTarget::XlaCpu() {
  FusionTarget target;
  target.name = "xla";
  target.emitter = Emitter::kXlaCpu;
  target.max_scratch_bytes = 0;
  target.max_reductions = 5;
  target.reads_through_contraction_operands = false;
  return target;
}

hlo::Hash128 FusionTarget::Hash() const {
  hlo::Hasher hasher;
  hasher.Add(name);
  if (emitter == Emitter::kXlaCpu) hasher.Add(static_cast<int64_t>(max_evaluations));
  for (int64_t limit :
       {int64_t{max_operands_and_outputs}, int64_t{max_instructions}, int64_t{max_depth}, int64_t{max_reductions},
        max_scratch_bytes, max_row_bytes, int64_t{reduction_copies}, int64_t{reads_through_contraction_operands},
        sibling_bytes, int64_t{max_concatenate_operands}, static_cast<int64_t>(recompute_factor * 1024)}) {
    hasher.Add(limit);
  }
  return hasher.Finish();
}

}  // namespace smelt::fusion
