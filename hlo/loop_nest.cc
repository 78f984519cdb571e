#include "hlo/loop_nest.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <iterator>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/literal.h"

namespace smelt::hlo {
namespace {

// Constants of more elements, unless all are equal, belong in memory: fusion keeps them outside kernels.
constexpr int64_t kTableLimit = 64;
// Calls nest; a verified module has no recursion, and this bounds what a strange one costs.
constexpr int kCallDepthLimit = 8;

template <typename... Parts>
absl::Status Refuse(const Instruction& instruction, const Parts&... parts) {
  return absl::UnimplementedError(StrCat(instruction.name(), ": ", parts...));
}

absl::Status CheckConstant(const Instruction& instruction) {
  const Literal& literal = instruction.literal();
  if (literal.element_count() <= kTableLimit || literal.IsUniform()) return absl::OkStatus();
  return Refuse(instruction, "a constant of ", literal.element_count(),
                " different elements cannot stand inside a kernel; pass it as a parameter");
}

absl::Status CheckBitcast(const Instruction& instruction) {
  const Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  if (BitWidth(from.element_type) == BitWidth(to.element_type) && from.ElementCount() == to.ElementCount())
    return absl::OkStatus();
  return Refuse(instruction, "bitcast between types of different width has no loop nest");
}

absl::Status CheckBitcastConvert(const Instruction& instruction) {
  const int from = BitWidth(instruction.operand(0)->shape().element_type);
  const int to = BitWidth(instruction.shape().element_type);
  if (from == to || (UnsignedOfBits(from) && UnsignedOfBits(to))) return absl::OkStatus();
  return Refuse(instruction, "bitcast-convert from ", from, " to ", to, " bits has no loop nest");
}

absl::Status CheckScaledDot(const Instruction& instruction) {
  for (int64_t i = 0; i < 2; ++i) {
    const Shape &operand = instruction.operand(i)->shape(), &scale = instruction.operand(i + 2)->shape();
    bool divides = operand.rank() == scale.rank();
    for (int64_t d = 0; divides && d < scale.rank(); ++d) divides = operand.dimensions[d] % scale.dimensions[d] == 0;
    if (!divides) {
      return Refuse(instruction, "the scale ", scale.ToString(), " does not divide ", operand.ToString());
    }
  }
  return absl::OkStatus();
}

absl::Status CheckElementwise(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kStochasticConvert:
      if (IsFloat(instruction.operand(0)->shape().element_type) && IsInteger(instruction.shape().element_type))
        return absl::OkStatus();
      return Refuse(instruction, "stochastic-convert has a loop nest only from floats to integers");
    case Opcode::kReducePrecision:
      if (instruction.attributes<ReducePrecisionAttributes>().exponent_bits >= 1) return absl::OkStatus();
      return Refuse(instruction, "reduce-precision without exponent bits has no loop nest");
    default:
      return absl::OkStatus();
  }
}

bool IsOperationOnScalars(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kTuple) return instruction.IsRoot();
  if (!instruction.shape().IsScalar() || IsComplex(instruction.shape().element_type)) return false;
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kCall:
      return true;
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
      return instruction.operand(0)->shape().IsScalar();
    default:
      return IsElementwise(opcode);
  }
}

absl::Status CheckScalarComputation(const Computation& computation, int depth) {
  if (depth > kCallDepthLimit) {
    return absl::UnimplementedError(StrCat(computation.name(), ": calls nest too deeply for a loop nest"));
  }
  for (const Instruction* instruction : computation.PostOrder()) {
    if (!IsOperationOnScalars(*instruction)) {
      return absl::UnimplementedError(StrCat(computation.name(), ": ", instruction->name(), " (",
                                             OpcodeName(instruction->opcode()), ") is not an operation on scalars"));
    }
    switch (instruction->opcode()) {
      case Opcode::kTuple:
      case Opcode::kParameter:
        break;
      case Opcode::kCall:
        SMELT_RETURN_IF_ERROR(CheckScalarComputation(*instruction->called(0), depth + 1));
        break;
      default:
        SMELT_RETURN_IF_ERROR(HasLoopNest(*instruction));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCalled(const Instruction& instruction) {
  if (instruction.called().size() != 1) return Refuse(instruction, "calls no computation of scalars");
  return CheckScalarComputation(*instruction.called(0), 0);
}

struct Entry {
  Opcode opcode;
  absl::Status (*check)(const Instruction& instruction) = nullptr;
  std::string_view condition = {};  // what the check asks for
};

// What has a loop nest, besides the elementwise opcodes.
constexpr Entry kEntries[] = {
    {Opcode::kConstant, CheckConstant, "of few elements or one value"},
    {Opcode::kIota},
    {Opcode::kMap, CheckCalled, "of a computation of elementwise opcodes"},
    {Opcode::kBitcastConvert, CheckBitcastConvert, "between types whose bits are an integer's"},
    {Opcode::kBroadcast},
    {Opcode::kReshape},
    {Opcode::kBitcast, CheckBitcast, "between types of one width"},
    {Opcode::kTranspose},
    {Opcode::kSlice},
    {Opcode::kReverse},
    {Opcode::kPad},
    {Opcode::kConcatenate},
    {Opcode::kDynamicSlice},
    {Opcode::kDynamicUpdateSlice},
    {Opcode::kGather},
    {Opcode::kReduce, CheckCalled, "by a computation of elementwise opcodes"},
    {Opcode::kReduceWindow, CheckCalled, "by a computation of elementwise opcodes"},
    {Opcode::kDot},
    {Opcode::kScaledDot, CheckScaledDot, "of scales that divide the operands"},
    {Opcode::kConvolution},
};
constexpr Entry kElementwise{Opcode::kAdd, CheckElementwise};

const Entry* Find(Opcode opcode) {
  for (const Entry& entry : kEntries) {
    if (entry.opcode == opcode) return &entry;
  }
  return IsElementwise(opcode) ? &kElementwise : nullptr;
}

// Why those that run as opaque operations do.
struct Reason {
  Opcode opcode;
  std::string_view why;
};
constexpr Reason kOpaque[] = {
    {Opcode::kSort, "a sort compares elements in an order that data decides"},
    {Opcode::kTopK, "top-k orders elements as data decides"},
    {Opcode::kScatter, "a scatter writes where data says, possibly twice"},
    {Opcode::kSelectAndScatter, "select-and-scatter writes where data says"},
    {Opcode::kFft, "a Fourier transform is not one loop nest"},
    {Opcode::kCholesky, "a factorisation carries its result from step to step"},
    {Opcode::kTriangularSolve, "a triangular solve carries its result from step to step"},
    {Opcode::kScan, "a scan carries its result from step to step"},
    {Opcode::kRng, "a random number generator has a state"},
    {Opcode::kRngBitGenerator, "a random number generator has a state"},
    {Opcode::kRngGetAndUpdateState, "a random number generator has a state"},
    {Opcode::kCustomCall, "what a custom call does is not known here, but for LAPACK's potrf, getrf and trsm"},
    {Opcode::kBatchNormTraining, "batch norm is expanded by a pass before kernels are made"},
    {Opcode::kBatchNormInference, "batch norm is expanded by a pass before kernels are made"},
    {Opcode::kBatchNormGrad, "batch norm is expanded by a pass before kernels are made"},
    {Opcode::kPartitionId, "there is one device, and nothing to loop over"},
    {Opcode::kReplicaId, "there is one device, and nothing to loop over"},
    {Opcode::kGetDimensionSize, "a size that is known only at run time comes with its array"},
    {Opcode::kSetDimensionSize, "a size that is known only at run time goes with its array"},
    {Opcode::kDynamicReshape, "sizes that are known only at run time go with their array"},
    {Opcode::kRaggedDot, "rows belong to groups whose sizes data decides"},
    {Opcode::kFusion, "a fusion's own computation is the kernel"},
};

const Reason* FindReason(Opcode opcode) {
  for (const Reason& reason : kOpaque) {
    if (reason.opcode == opcode) return &reason;
  }
  return nullptr;
}

// What has a loop nest of complex numbers, on the conditions of CheckComplex.
constexpr Opcode kComplexOpcodes[] = {
    Opcode::kConstant, Opcode::kCopy,     Opcode::kNegate,    Opcode::kAdd,         Opcode::kSubtract,
    Opcode::kSelect,   Opcode::kReshape,  Opcode::kBroadcast, Opcode::kBitcast,     Opcode::kTranspose,
    Opcode::kSlice,    Opcode::kReverse,  Opcode::kPad,       Opcode::kConcatenate, Opcode::kDynamicSlice,
    Opcode::kGather,   Opcode::kMultiply, Opcode::kDivide,    Opcode::kComplex,     Opcode::kReal,
    Opcode::kImag,     Opcode::kAbs,      Opcode::kCompare,   Opcode::kConvert,     Opcode::kExp,
    Opcode::kMaximum,  Opcode::kMinimum,
};

bool IsFiniteDivisor(const Instruction* divisor) {
  while (divisor->opcode() == Opcode::kBroadcast) divisor = divisor->operand(0);
  if (divisor->opcode() != Opcode::kConstant || divisor->literal().element_count() != 1) return false;
  const std::complex<double> value = divisor->literal().GetComplex(0);
  return std::isfinite(value.real()) && std::isfinite(value.imag()) && value != 0.0;
}

absl::Status CheckComplex(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (std::find(std::begin(kComplexOpcodes), std::end(kComplexOpcodes), opcode) == std::end(kComplexOpcodes))
    return Refuse(instruction, OpcodeName(opcode), " of complex numbers has no loop nest");
  // Magnitudes and quotients are done in the next wider type; f64 has no vector code for exponentials.
  const bool narrow =
      instruction.operand_count() > 0 && instruction.operand(0)->shape().element_type == PrimitiveType::kC64;
  switch (opcode) {
    case Opcode::kBitcast:
      if (instruction.operand(0)->shape().element_type == instruction.shape().element_type) break;
      return Refuse(instruction, "a bitcast between real and complex numbers has no loop nest");
    case Opcode::kAbs:
    case Opcode::kExp:
      if (narrow) break;
      return Refuse(instruction, OpcodeName(opcode), " of complex numbers of f64 has no loop nest");
    case Opcode::kDivide:
      if (narrow || IsFiniteDivisor(instruction.operand(1))) break;
      return Refuse(
          instruction,
          "a quotient of complex numbers of f64 has a loop nest only where the divisor is one finite constant");
    default:
      break;
  }
  return absl::OkStatus();
}

absl::Status CheckArray(const Instruction& instruction, const Shape& shape, std::string_view what,
                        std::string_view name = {}) {
  const auto refuse = [&](const auto&... why) {
    return Refuse(instruction, what, name, " ", shape.ToString(), " ", why...);
  };
  if (!shape.IsArray()) return refuse("is not an array, so there is no loop nest");
  const PrimitiveType type = shape.element_type;
  if (type != PrimitiveType::kPred && !IsInteger(type) && !IsFloat(type) && !IsComplex(type)) {
    return refuse("has element type ", PrimitiveTypeName(type), ", for which loop nests are not generated");
  }
  if (shape.IsDynamic()) return refuse("has dynamic dimensions, which loop nests do not");
  if (shape.ElementCount() == 0) return refuse("has no elements to loop over");
  return absl::OkStatus();
}

}  // namespace

std::optional<PrimitiveType> UnsignedOfBits(int bits) {
  constexpr PrimitiveType kTypes[] = {PrimitiveType::kU1,  PrimitiveType::kU2,  PrimitiveType::kU4, PrimitiveType::kU8,
                                      PrimitiveType::kU16, PrimitiveType::kU32, PrimitiveType::kU64};
  for (PrimitiveType type : kTypes) {
    if (BitWidth(type) == bits) return type;
  }
  return std::nullopt;
}

bool HasComplexNumbers(const Instruction& instruction) {
  const auto is_complex = [](const Shape& shape) { return shape.IsArray() && IsComplex(shape.element_type); };
  return is_complex(instruction.shape()) ||
         std::any_of(instruction.operands().begin(), instruction.operands().end(),
                     [&](const Instruction* operand) { return is_complex(operand->shape()); });
}

absl::Status HasLoopNest(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  const Entry* entry = Find(opcode);
  if (entry == nullptr) {
    const auto* reason = FindReason(opcode);
    if (reason != nullptr) return Refuse(instruction, reason->why);
    return Refuse(instruction, OpcodeName(opcode), " has no loop nest");
  }
  const Shape& shape = instruction.shape();
  if (shape.IsTuple()) {
    for (const Shape& element : shape.tuple_shapes)
      SMELT_RETURN_IF_ERROR(CheckArray(instruction, element, "the result"));
  } else {
    SMELT_RETURN_IF_ERROR(CheckArray(instruction, shape, "the result"));
  }
  for (const Instruction* operand : instruction.operands())
    SMELT_RETURN_IF_ERROR(CheckArray(instruction, operand->shape(), "operand ", operand->name()));
  if (HasComplexNumbers(instruction)) SMELT_RETURN_IF_ERROR(CheckComplex(instruction));
  return entry->check == nullptr ? absl::OkStatus() : entry->check(instruction);
}

absl::Status HasLoopNest(const Computation& kernel) {
  for (const Instruction* instruction : kernel.PostOrder()) {
    const Opcode opcode = instruction->opcode();
    if (opcode == Opcode::kTuple || opcode == Opcode::kGetTupleElement) continue;
    if (opcode == Opcode::kParameter) {
      SMELT_RETURN_IF_ERROR(CheckArray(*instruction, instruction->shape(), "parameter"));
    } else {
      SMELT_RETURN_IF_ERROR(HasLoopNest(*instruction));
    }
  }
  return absl::OkStatus();
}

OpcodeLoops LoopsOf(Opcode opcode) {
  if (const Entry* entry = Find(opcode)) return {true, entry->condition};
  const Reason* reason = FindReason(opcode);
  return {false, reason != nullptr ? reason->why : "it has no loop nest"};
}

}  // namespace smelt::hlo
