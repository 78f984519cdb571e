#include "hlo/passes/algebra/ranges.h"
#include "hlo/passes/algebra/rule.h"
#include "hlo/rewrite/constants.h"

namespace smelt::hlo {
namespace {

PrimitiveType TypeOf(const Instruction& x) { return x.shape().element_type; }

Instruction* ConvertToSameType(Instruction& x, GraphBuilder&) {
  return TypeOf(x) == TypeOf(*x.operand(0)) ? x.operand(0) : nullptr;
}

// convert(convert(x)) where the first one keeps every value: f32 -> f64 -> f32 is nothing, pred -> s32 -> f32 is one
// step. (f32 -> bf16 -> f32 rounds, and stays.)
Instruction* ConvertOfConvert(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kConvert) return nullptr;
  Instruction* source = inner.operand(0);
  if (!IsLosslessConversion(TypeOf(*source), TypeOf(inner))) return nullptr;
  // What an integer type cannot hold ends at its limits where it comes from a float, and wraps where it comes from an
  // integer.
  const bool is_whole = IsInteger(TypeOf(*source)) || TypeOf(*source) == PrimitiveType::kPred;
  const bool by_float = is_whole && !IsInteger(TypeOf(inner)) && IsInteger(TypeOf(x));
  if (by_float && !IsLosslessConversion(TypeOf(*source), TypeOf(x))) return nullptr;
  return build.Convert(source, TypeOf(x));
}

// An iota of the other type, where its largest value fits both.
Instruction* ConvertOfIota(Instruction& x, GraphBuilder& build) {
  Instruction& iota = *x.operand(0);
  if (iota.opcode() != Opcode::kIota || iota.user_count() > 1) return nullptr;
  constexpr int64_t kExact = 127;  // in every type that an iota of interest has
  const int64_t size = iota.shape().dimensions[iota.attributes<IotaAttributes>().dimension];
  auto holds = [&](PrimitiveType type) {
    if (type == PrimitiveType::kPred || IsComplex(type) || BitWidth(type) < 8) return false;
    if (size <= kExact + 1) return !IsFloat(type) || BitWidth(type) >= 16;
    return BitWidth(type) >= 32 && size <= (int64_t{1} << 24);
  };
  if (!holds(TypeOf(iota)) || !holds(TypeOf(x))) return nullptr;
  return build.Add(Opcode::kIota, Shape::Array(TypeOf(x), x.shape().dimensions), {}, iota.attributes<IotaAttributes>());
}

Instruction* BitcastConvertToSameType(Instruction& x, GraphBuilder&) {
  return x.shape().SameAs(x.operand(0)->shape()) ? x.operand(0) : nullptr;
}

Instruction* BitcastConvertTwice(Instruction& x, GraphBuilder& build) {
  Instruction& inner = *x.operand(0);
  if (inner.opcode() != Opcode::kBitcastConvert || BitWidth(TypeOf(x)) != BitWidth(TypeOf(inner)) ||
      BitWidth(TypeOf(x)) != BitWidth(TypeOf(*inner.operand(0)))) {
    return nullptr;
  }
  if (x.shape().SameAs(inner.operand(0)->shape())) return inner.operand(0);
  return build.Add(Opcode::kBitcastConvert, Shape::Array(TypeOf(x), x.shape().dimensions), {inner.operand(0)});
}

Instruction* PartOfComplex(Instruction& x, GraphBuilder&) {
  Instruction& complex = *x.operand(0);
  if (complex.opcode() != Opcode::kComplex) return nullptr;
  return complex.operand(x.opcode() == Opcode::kReal ? 0 : 1);
}

Instruction* RealOfReal(Instruction& x, GraphBuilder&) {
  return IsComplex(TypeOf(*x.operand(0))) ? nullptr : x.operand(0);
}

Instruction* ComplexOfParts(Instruction& x, GraphBuilder&) {
  Instruction& real = *x.operand(0);
  Instruction& imag = *x.operand(1);
  if (real.opcode() != Opcode::kReal || imag.opcode() != Opcode::kImag || real.operand(0) != imag.operand(0)) {
    return nullptr;
  }
  return IsComplex(TypeOf(*real.operand(0))) ? real.operand(0) : nullptr;
}

// Rounding to the type's own precision.
Instruction* ReduceToSamePrecision(Instruction& x, GraphBuilder&) {
  const auto& bits = x.attributes<ReducePrecisionAttributes>();
  struct Format {
    PrimitiveType type;
    int64_t exponent, mantissa;
  };
  constexpr Format kFormats[] = {{PrimitiveType::kF16, 5, 10},
                                 {PrimitiveType::kBF16, 8, 7},
                                 {PrimitiveType::kF32, 8, 23},
                                 {PrimitiveType::kF64, 11, 52}};
  for (const Format& format : kFormats) {
    if (TypeOf(x) == format.type && bits.exponent_bits == format.exponent && bits.mantissa_bits == format.mantissa) {
      return x.operand(0);
    }
  }
  return nullptr;
}

constexpr Rule kRules[] = {
    {"convert-same", Opcode::kConvert, ConvertToSameType},
    {"convert-convert", Opcode::kConvert, ConvertOfConvert},
    {"convert-iota", Opcode::kConvert, ConvertOfIota},
    {"bitcast-convert-same", Opcode::kBitcastConvert, BitcastConvertToSameType},
    {"bitcast-convert-twice", Opcode::kBitcastConvert, BitcastConvertTwice},
    {"real-complex", Opcode::kReal, PartOfComplex},
    {"real-real", Opcode::kReal, RealOfReal},
    {"imag-complex", Opcode::kImag, PartOfComplex},
    {"complex-parts", Opcode::kComplex, ComplexOfParts},
    {"reduce-precision-same", Opcode::kReducePrecision, ReduceToSamePrecision},
};

}  // namespace

absl::Span<const Rule> ConvertRules() { return kRules; }

}  // namespace smelt::hlo
