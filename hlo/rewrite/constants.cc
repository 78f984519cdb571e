#include "hlo/rewrite/constants.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace smelt::hlo {

const Literal* KnownLiteral(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kConstant) return nullptr;
  const auto& constant = instruction.attributes<ConstantAttributes>();
  if (constant.elided || constant.literal == nullptr || !constant.literal->IsArray()) return nullptr;
  return constant.literal.get();
}

Literal ElementLiteral(const Literal& literal, int64_t index) {
  Literal element(Shape::Scalar(literal.shape().element_type));
  const int64_t bytes = element.byte_size();
  std::memcpy(element.raw(), static_cast<const char*>(literal.raw()) + index * bytes, bytes);
  return element;
}

const Literal* UniformLiteral(const Instruction& instruction) {
  // After simplification one step is the rule; the bound keeps long chains of reshapes from costing their square.
  constexpr int kSteps = 8;
  const Instruction* source = &instruction;
  for (int step = 0; step < kSteps; ++step) {
    switch (source->opcode()) {
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kBitcast:
      case Opcode::kCopy:
      case Opcode::kTranspose:
      case Opcode::kSlice:
        // A bitcast may change the type, and with it the values.
        if (source->shape().element_type != source->operand(0)->shape().element_type) return nullptr;
        source = source->operand(0);
        continue;
      default:
        break;
    }
    break;
  }
  const Literal* literal = KnownLiteral(*source);
  if (literal == nullptr || literal->element_count() == 0 || !literal->IsUniform()) return nullptr;
  return literal;
}

std::optional<Literal> UniformValue(const Instruction& instruction) {
  const Literal* literal = UniformLiteral(instruction);
  if (literal == nullptr) return std::nullopt;
  return ElementLiteral(*literal, 0);
}

bool IsAll(const Instruction& instruction, double value) {
  const Literal* uniform = UniformLiteral(instruction);
  if (uniform == nullptr) return false;
  const PrimitiveType type = uniform->shape().element_type;
  if (IsComplex(type)) return uniform->GetComplex(0) == std::complex<double>(value, 0);
  if (IsInteger(type)) {
    // Compared as integers: 2^53 + 1 and 2^53 are one double.
    return std::abs(value) < 0x1p53 && value == std::floor(value) &&
           uniform->GetInteger(0) == static_cast<int64_t>(value) && (value >= 0 || IsSigned(type));
  }
  return uniform->GetDouble(0) == value;
}

namespace {

bool IsAllZeroWithSign(const Instruction& instruction, bool negative) {
  const Literal* uniform = UniformLiteral(instruction);
  if (uniform == nullptr) return false;
  const PrimitiveType type = uniform->shape().element_type;
  if (IsComplex(type)) {
    const std::complex<double> value = uniform->GetComplex(0);
    return value == 0.0 && std::signbit(value.real()) == negative && std::signbit(value.imag()) == negative;
  }
  if (!IsFloat(type)) return !negative && uniform->GetInteger(0) == 0;
  const double value = uniform->GetDouble(0);
  return value == 0 && std::signbit(value) == negative;
}

}  // namespace

bool IsAllPositiveZero(const Instruction& instruction) { return IsAllZeroWithSign(instruction, false); }
bool IsAllNegativeZero(const Instruction& instruction) { return IsAllZeroWithSign(instruction, true); }

bool IsAllOnes(const Instruction& instruction) {
  const Literal* uniform = UniformLiteral(instruction);
  if (uniform == nullptr) return false;
  const PrimitiveType type = uniform->shape().element_type;
  if (type == PrimitiveType::kPred) return uniform->GetInteger(0) == 1;
  if (IsSigned(type)) return uniform->GetInteger(0) == -1;
  if (!IsUnsigned(type)) return false;
  const int bits = BitWidth(type);
  const uint64_t ones = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return static_cast<uint64_t>(uniform->GetInteger(0)) == ones;
}

Literal ScalarLiteral(PrimitiveType type, double value) {
  Literal literal(Shape::Scalar(type));
  if (IsComplex(type)) {
    literal.SetComplex(0, value);
  } else {
    literal.SetDouble(0, value);
  }
  return literal;
}

namespace {

std::optional<Literal> ExtremeLiteral(PrimitiveType type, bool lowest) {
  Literal literal(Shape::Scalar(type));
  if (type == PrimitiveType::kPred) {
    literal.SetInteger(0, lowest ? 0 : 1);
  } else if (IsUnsigned(type)) {
    const int bits = BitWidth(type);
    literal.SetInteger(0, lowest ? 0 : bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << bits) - 1));
  } else if (IsSigned(type)) {
    const int shift = 64 - BitWidth(type);
    literal.SetInteger(0,
                       (lowest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max()) >> shift);
  } else if (IsFloat(type)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    literal.SetDouble(0, lowest ? -kInfinity : kInfinity);
    // Formats without infinities saturate or give NaN: they have no neutral extreme here.
    if (literal.GetDouble(0) != (lowest ? -kInfinity : kInfinity)) return std::nullopt;
  } else {
    return std::nullopt;
  }
  return literal;
}

bool IsAllExtreme(const Instruction& instruction, bool lowest) {
  const Literal* uniform = UniformLiteral(instruction);
  if (uniform == nullptr) return false;
  const std::optional<Literal> extreme = ExtremeLiteral(uniform->shape().element_type, lowest);
  return extreme && *extreme == ElementLiteral(*uniform, 0);
}

}  // namespace

std::optional<Literal> LowestLiteral(PrimitiveType type) { return ExtremeLiteral(type, true); }
std::optional<Literal> HighestLiteral(PrimitiveType type) { return ExtremeLiteral(type, false); }
bool IsAllLowest(const Instruction& instruction) { return IsAllExtreme(instruction, true); }
bool IsAllHighest(const Instruction& instruction) { return IsAllExtreme(instruction, false); }

}  // namespace smelt::hlo
