#include "targets/cpu/codegen/small_float_code.h"

#include <cmath>

namespace smelt::cpu::codegen {
namespace {

using Special = hlo::FloatFormat::Special;

constexpr int kMantissaBits = 23;
constexpr int kBias = 127;
constexpr int64_t kSign = int64_t{1} << 31;
constexpr int64_t kInfinityBits = 0x7f800000;
constexpr int64_t kNaN = 0x7fc00000;

// The largest finite number of the format, as the bits of a float.
int64_t LargestFinite(const hlo::FloatFormat& format) {
  int64_t pattern = (int64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1;
  if (format.special == Special::kIeee) pattern -= int64_t{1} << format.mantissa_bits;
  if (format.special == Special::kFinite || format.special == Special::kExponentOnly) --pattern;
  return (pattern << (kMantissaBits - format.mantissa_bits)) + (int64_t{kBias - format.bias} << kMantissaBits);
}

// Bits of the smallest normal number as a float; below it lie multiples of one step.
int64_t SmallestNormal(const hlo::FloatFormat& format) { return int64_t{kBias + 1 - format.bias} << kMantissaBits; }

double Step(const hlo::FloatFormat& format) { return std::ldexp(1.0, 1 - format.bias - format.mantissa_bits); }

// Bit arithmetic on words of one width.
struct Words {
  Builder& builder;
  int lanes;
  llvm::Type* type = WithLanes(builder.getInt32Ty(), lanes);
  llvm::Type* real = WithLanes(builder.getFloatTy(), lanes);

  llvm::Value* Constant(int64_t value) { return llvm::ConstantInt::get(type, static_cast<uint32_t>(value)); }
  llvm::Value* And(llvm::Value* a, int64_t b) { return builder.CreateAnd(a, Constant(b)); }
  llvm::Value* Or(llvm::Value* a, llvm::Value* b) { return builder.CreateOr(a, b); }
  llvm::Value* Add(llvm::Value* a, int64_t b) { return builder.CreateAdd(a, Constant(b)); }
  llvm::Value* Left(llvm::Value* a, int bits) { return builder.CreateShl(a, Constant(bits)); }
  llvm::Value* Right(llvm::Value* a, int bits) { return builder.CreateLShr(a, Constant(bits)); }
  llvm::Value* Equal(llvm::Value* a, int64_t b) { return builder.CreateICmpEQ(a, Constant(b)); }
  llvm::Value* Below(llvm::Value* a, int64_t b) { return builder.CreateICmpULT(a, Constant(b)); }
  llvm::Value* Above(llvm::Value* a, int64_t b) { return builder.CreateICmpUGT(a, Constant(b)); }
  llvm::Value* Select(llvm::Value* condition, llvm::Value* a, llvm::Value* b) {
    return builder.CreateSelect(condition, a, b);
  }
  llvm::Value* Bits(llvm::Value* value) { return builder.CreateBitCast(value, type); }
  llvm::Value* Float(llvm::Value* bits) { return builder.CreateBitCast(bits, real); }
  llvm::Value* Real(double value) { return RealConstant(real, value); }
  // To nearest, ties to even, dropping the low `dropped` bits.
  llvm::Value* RoundOff(llvm::Value* bits, int dropped) {
    llvm::Value* odd = And(Right(bits, dropped), 1);
    llvm::Value* sum = builder.CreateAdd(Add(bits, (int64_t{1} << (dropped - 1)) - 1), odd);
    return And(sum, ~((int64_t{1} << dropped) - 1));
  }
};

// Powers of two without sign or zero. 2^-127 is a subnormal float, so nothing here is arithmetic on floats.
constexpr int64_t kSmallestPower = 0x400000;

llvm::Value* RoundToPower(Words w, llvm::Value* value) {
  llvm::Value* bits = w.Bits(value);
  // The rule is hlo::EncodeFloat's: the middle of two goes up, and above the smallest one everything does.
  llvm::Value* rounded = w.And(w.Add(bits, int64_t{1} << (kMantissaBits - 1)), ~((int64_t{1} << kMantissaBits) - 1));
  llvm::Value* small =
      w.Select(w.Above(bits, kSmallestPower), w.Constant(int64_t{1} << 23), w.Constant(kSmallestPower));
  rounded = w.Select(w.Below(bits, int64_t{1} << kMantissaBits), small, rounded);
  // What has a sign is above all numbers; a NaN's rounding may wrap around.
  llvm::Value* bad =
      w.Or(w.Or(w.Equal(bits, 0), w.Above(bits, kInfinityBits - 1)), w.Above(rounded, kInfinityBits - 1));
  return w.Float(w.Select(bad, w.Constant(kNaN), rounded));
}

}  // namespace

llvm::Value* DecodeSmallFloat(Builder& builder, const hlo::FloatFormat& format, llvm::Value* bytes) {
  Words w{builder, LanesOf(bytes->getType())};
  llvm::Value* bits = builder.CreateZExt(bytes, w.type);
  const int m = format.mantissa_bits;
  if (format.special == Special::kExponentOnly) {
    llvm::Value* result = w.Left(bits, kMantissaBits);
    result = w.Select(w.Equal(bits, 0), w.Constant(kSmallestPower), result);
    return w.Float(w.Select(w.Equal(bits, 0xff), w.Constant(kNaN), result));
  }
  const int width = format.exponent_bits + m;
  const int64_t all = (int64_t{1} << width) - 1;
  llvm::Value* magnitude = w.And(bits, all);
  llvm::Value* sign = w.Left(w.And(w.Right(bits, width), 1), 31);
  llvm::Value* normal = w.Add(w.Left(magnitude, kMantissaBits - m), int64_t{kBias - format.bias} << kMantissaBits);
  llvm::Value* subnormal = builder.CreateFMul(builder.CreateUIToFP(magnitude, w.real), w.Real(Step(format)));
  llvm::Value* result = w.Select(w.Below(magnitude, int64_t{1} << m), w.Bits(subnormal), normal);
  switch (format.special) {
    case Special::kIeee: {
      const int64_t infinity = ((int64_t{1} << format.exponent_bits) - 1) << m;
      llvm::Value* special =
          w.Or(w.Left(magnitude, kMantissaBits - m), w.Constant(kInfinityBits));  // NaN keeps its payload
      result = w.Select(w.Below(magnitude, infinity), result, special);
      break;
    }
    case Special::kFinite:
      result = w.Select(w.Equal(magnitude, all), w.Constant(kNaN), result);
      break;
    case Special::kUnsignedZero:
      return w.Float(w.Select(w.Equal(w.And(bits, 2 * all + 1), all + 1), w.Constant(kNaN), w.Or(result, sign)));
    default:
      break;
  }
  return w.Float(w.Or(result, sign));
}

llvm::Value* RoundToSmallFloat(Builder& builder, const hlo::FloatFormat& format, llvm::Value* value) {
  Words w{builder, LanesOf(value->getType())};
  if (format.special == Special::kExponentOnly) return RoundToPower(w, value);
  llvm::Value* bits = w.Bits(value);
  llvm::Value* sign = w.And(bits, kSign);
  llvm::Value* magnitude = w.And(bits, kSign - 1);
  llvm::Value* rounded = w.RoundOff(magnitude, kMantissaBits - format.mantissa_bits);
  // Below the normal numbers: adding and subtracting a number whose last place is the format's step rounds to it.
  llvm::Value* shift = w.Real(std::ldexp(Step(format), kMantissaBits));
  llvm::Value* small = builder.CreateFSub(builder.CreateFAdd(w.Float(magnitude), shift), shift);
  rounded = w.Select(w.Below(magnitude, SmallestNormal(format)), w.Bits(small), rounded);
  const int64_t largest = LargestFinite(format);
  const int64_t overflow = format.special == Special::kIeee   ? kInfinityBits
                           : format.special == Special::kNone ? largest
                                                              : kNaN;
  rounded = w.Select(w.Above(rounded, largest), w.Constant(overflow), rounded);
  llvm::Value* is_nan = w.Above(magnitude, kInfinityBits);
  if (format.special == Special::kNone) {
    return w.Float(w.Select(is_nan, w.Constant(kSign), w.Or(rounded, sign)));
  }
  rounded = w.Select(is_nan, w.Constant(kNaN), rounded);
  if (format.special == Special::kUnsignedZero) {
    // One NaN, one zero.
    llvm::Value* single = w.Or(w.Equal(rounded, 0), w.Above(rounded, kInfinityBits));
    return w.Float(w.Select(single, rounded, w.Or(rounded, sign)));
  }
  return w.Float(w.Or(rounded, sign));
}

llvm::Value* EncodeSmallFloat(Builder& builder, const hlo::FloatFormat& format, llvm::Value* value) {
  Words w{builder, LanesOf(value->getType())};
  llvm::Value* bits = w.Bits(value);
  llvm::Type* byte = WithLanes(builder.getInt8Ty(), w.lanes);
  const int m = format.mantissa_bits;
  if (format.special == Special::kExponentOnly) {
    llvm::Value* exponent = w.Right(w.And(bits, kSign - 1), kMantissaBits);
    return builder.CreateTrunc(exponent, byte);  // of NaN: all ones
  }
  const int width = format.exponent_bits + m;
  const int64_t all = (int64_t{1} << width) - 1;
  llvm::Value* magnitude = w.And(bits, kSign - 1);
  llvm::Value* sign = w.Right(w.And(bits, kSign), 31 - width);
  llvm::Value* normal = w.Right(w.Add(magnitude, -(int64_t{kBias - format.bias} << kMantissaBits)), kMantissaBits - m);
  llvm::Value* is_small = w.Below(magnitude, SmallestNormal(format));
  // Only small numbers are converted: of others the result would not be defined.
  llvm::Value* scaled = w.Select(is_small, magnitude, w.Constant(0));
  scaled = builder.CreateFPToUI(builder.CreateFMul(w.Float(scaled), w.Real(1 / Step(format))), w.type);
  llvm::Value* result = w.Select(is_small, scaled, normal);
  llvm::Value* is_nan = w.Above(magnitude, kInfinityBits);
  switch (format.special) {
    case Special::kIeee: {
      const int64_t infinity = ((int64_t{1} << format.exponent_bits) - 1) << m;
      result = w.Select(w.Equal(magnitude, kInfinityBits), w.Constant(infinity), result);
      llvm::Value* payload = w.And(w.Right(magnitude, kMantissaBits - m), (int64_t{1} << m) - 1);
      payload = w.Select(w.Equal(payload, 0), w.Constant(int64_t{1} << (m - 1)), payload);
      result = w.Select(is_nan, w.Or(payload, w.Constant(infinity)), result);
      break;
    }
    case Special::kFinite:
      result = w.Select(is_nan, w.Constant(all), result);
      break;
    case Special::kUnsignedZero:
      result = w.Select(is_nan, w.Constant(all + 1), w.Or(result, sign));
      return builder.CreateTrunc(result, byte);
    default:
      break;
  }
  return builder.CreateTrunc(w.Or(result, sign), byte);
}

}  // namespace smelt::cpu::codegen
