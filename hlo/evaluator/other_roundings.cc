#include "hlo/evaluator/other_roundings.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

#include "base/status_macros.h"
#include "hlo/rounding.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

constexpr double kSecondsPerNumber = 1e-9;
// Long sums and functions computed in another way differ by some eight last digits of an f32 or f64; what is rounded to
// 16 bits differs by one.
constexpr int kDigits = 8;
// Numbers are moved so many times further before a choice.
constexpr int kChoiceFactor = 8;

// What a float of a type, or one of a complex number's two, looks like.
struct Format {
  uint64_t exponent;  // its bits
  uint64_t exact;     // last bits that are zero in a number that nothing rounded; few others have such
  double last_digit;  // of numbers near one
  int digits;         // by which another rounding differs
};

Format FormatOf(PrimitiveType type) {
  const FloatFormat& bits = GetFloatFormat(IsComplex(type) ? ComplexPart(type) : type);
  const uint64_t one = 1;
  return {.exponent = ((one << bits.exponent_bits) - 1) << bits.mantissa_bits,
          .exact = (one << (bits.mantissa_bits + 1) / 3) - 1,
          .last_digit = std::ldexp(1.0, -bits.mantissa_bits),
          .digits = bits.mantissa_bits < 23 ? 1 : kDigits};
}

bool HasRoundedNumbers(const Value& value) {
  if (!value.IsArray()) return false;
  const PrimitiveType type = value.shape().element_type;
  return (IsFloat(type) || IsComplex(type)) && BitWidth(type) >= 16;
}

bool GoesUp(uint64_t bits, int way) {
  bits += static_cast<uint64_t>(way) << 56;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  return ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) >> 63 != 0;
}

// Calls change(number, index) for each that is finite and not zero, bits in and bits out.
template <typename Bits, typename Change>
void ChangeEach(Literal* array, const Format& format, Evaluation& evaluation, const Change& change) {
  Bits* const numbers = static_cast<Bits*>(array->raw());
  const int64_t count = array->byte_size() / static_cast<int64_t>(sizeof(Bits));
  evaluation.ParallelFor(count, kSecondsPerNumber, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t bits = numbers[i], exponent = bits & format.exponent;
      if (exponent == format.exponent || exponent == 0) continue;
      numbers[i] = static_cast<Bits>(change(bits, i));
    }
  });
}

template <typename Change>
absl::StatusOr<Value> Changed(const Value& value, Evaluation& evaluation, const Change& change) {
  SMELT_ASSIGN_OR_RETURN(const std::shared_ptr<Literal> other, evaluation.NewArray(value.shape()));
  std::memcpy(other->raw(), value.array().raw(), other->byte_size());
  const PrimitiveType type = value.shape().element_type;
  const Format format = FormatOf(type);
  switch (BitWidth(type) / (IsComplex(type) ? 2 : 1)) {
    case 16:
      ChangeEach<uint16_t>(other.get(), format, evaluation, change);
      break;
    case 32:
      ChangeEach<uint32_t>(other.get(), format, evaluation, change);
      break;
    default:
      ChangeEach<uint64_t>(other.get(), format, evaluation, change);
  }
  Value result(other);
  if (value.runtime_sizes() != nullptr) result.set_runtime_sizes(*value.runtime_sizes());
  return result;
}

// The root mean square of what is finite.
double Magnitude(const Literal& array) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < array.element_count(); ++i) {
    const double square = std::norm(array.GetComplex(i));
    if (!std::isfinite(square)) continue;
    sum += square;
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

double Decode(PrimitiveType type, uint64_t bits) {
  if (type == PrimitiveType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == PrimitiveType::kF64) return std::bit_cast<double>(bits);
  return DecodeFloat(type, static_cast<uint16_t>(bits));
}

uint64_t Encode(PrimitiveType type, double number) {
  if (type == PrimitiveType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(number));
  if (type == PrimitiveType::kF64) return std::bit_cast<uint64_t>(number);
  return EncodeFloat(type, number);
}

}  // namespace

bool MayRoundOtherwise(const Instruction& instruction) {
  if (!RoundsResult(instruction)) return false;
  const absl::Span<Computation* const> called = instruction.called();
  return called.empty() || std::any_of(called.begin(), called.end(), [](const Computation* computation) {
           const std::vector<Instruction*> body = computation->PostOrder();
           return std::any_of(body.begin(), body.end(), [](const Instruction* x) { return MayRoundOtherwise(*x); });
         });
}

absl::StatusOr<Value> RoundOtherwise(Value value, Evaluation& evaluation) {
  if (value.IsTuple()) {
    std::vector<Value> elements;
    for (const Value& element : value.elements()) {
      SMELT_ASSIGN_OR_RETURN(Value other, RoundOtherwise(element, evaluation));
      elements.push_back(std::move(other));
    }
    return Value(std::move(elements));
  }
  if (!HasRoundedNumbers(value)) return value;
  const Format format = FormatOf(value.shape().element_type);
  return Changed(value, evaluation, [format, way = evaluation.other_roundings()](uint64_t bits, int64_t index) {
    if ((bits & format.exact) == 0) return bits;
    const uint64_t up = bits + format.digits, down = bits - format.digits;
    const bool goes_up = GoesUp(bits + static_cast<uint64_t>(index) * 0x9E3779B97F4A7C15, way);
    return goes_up && (up & format.exponent) != format.exponent ? up : down;
  });
}

int64_t ChoosesBy(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kCompare: {
      const ComparisonDirection direction = instruction.attributes<CompareAttributes>().direction;
      return direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe ? 0 : 2;
    }
    case Opcode::kConvert:
      return IsInteger(instruction.shape().element_type) ? 1 : 0;
    case Opcode::kRoundNearestEven:
    case Opcode::kRoundNearestAfz:
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kSelectAndScatter:
      return 1;
    default:
      return 0;
  }
}

absl::Status ChooseOtherwise(const Instruction& instruction, absl::Span<Value> operands, Evaluation& evaluation) {
  operands = operands.first(ChoosesBy(instruction));
  // Sums that are a half after one rounding are next to it after another.
  const bool at_halves =
      instruction.opcode() == Opcode::kRoundNearestEven || instruction.opcode() == Opcode::kRoundNearestAfz;
  const int way = evaluation.other_roundings();
  double magnitude = 0;
  for (const Value& operand : operands) {
    if (HasRoundedNumbers(operand)) magnitude = std::max(magnitude, Magnitude(operand.array()));
  }
  for (Value& operand : operands) {
    if (!HasRoundedNumbers(operand) || IsComplex(operand.shape().element_type)) continue;
    const PrimitiveType type = operand.shape().element_type;
    const Format format = FormatOf(type);
    const double by = magnitude * format.last_digit * format.digits * (format.digits == 1 ? 1 : kChoiceFactor);
    SMELT_ASSIGN_OR_RETURN(operand, Changed(operand, evaluation, [=](uint64_t bits, int64_t) {
                             const double number = Decode(type, bits);
                             const bool exact = at_halves ? number == std::floor(number) : (bits & format.exact) == 0;
                             return exact ? bits : Encode(type, GoesUp(bits, way) ? number + by : number - by);
                           }));
  }
  return absl::OkStatus();
}

}  // namespace smelt::hlo
