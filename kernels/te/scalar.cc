#include "kernels/te/scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "hlo/small_float.h"

namespace smelt::kernels::te {
namespace {

int64_t Wrap(PrimitiveType type, int64_t value) {
  if (type == PrimitiveType::kPred) return value & 1;
  const int bits = hlo::BitWidth(type);
  if (bits >= 64) return value;
  const uint64_t low = static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
  if (hlo::IsSigned(type) && (low >> (bits - 1) & 1) != 0) return static_cast<int64_t>(low | ~uint64_t{0} << bits);
  return static_cast<int64_t>(low);
}

double RoundFloat(PrimitiveType type, double value) {
  if (type == PrimitiveType::kF64) return value;
  if (type == PrimitiveType::kF32) return static_cast<float>(value);
  return hlo::DecodeFloat(type, hlo::EncodeFloat(type, value));
}

double RoundArithmetic(PrimitiveType type, double value) {
  return RoundFloat(type, ComputesInF16(type) ? RoundFloat(PrimitiveType::kF16, value) : value);
}

uint64_t LowBits(PrimitiveType type, int64_t value) {
  const int bits = hlo::BitWidth(type);
  return bits >= 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
}

double UnaryFloat(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNegate:
      return -x;
    case UnaryOp::kAbs:
      return std::fabs(x);
    case UnaryOp::kSign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case UnaryOp::kFloor:
      return std::floor(x);
    case UnaryOp::kCeil:
      return std::ceil(x);
    case UnaryOp::kRoundEven:
      return std::nearbyint(x);
    case UnaryOp::kRoundAfz:
      return std::round(x);
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kRsqrt:
      return 1 / std::sqrt(x);
    case UnaryOp::kCbrt:
      return std::cbrt(x);
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kExpm1:
      return std::expm1(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kLog1p:
      return std::log1p(x);
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kLogistic:
      return 1 / (1 + std::exp(-x));
    case UnaryOp::kSin:
      return std::sin(x);
    case UnaryOp::kCos:
      return std::cos(x);
    case UnaryOp::kTan:
      return std::tan(x);
    case UnaryOp::kErf:
      return std::erf(x);
    case UnaryOp::kAsin:
      return std::asin(x);
    case UnaryOp::kAcos:
      return std::acos(x);
    case UnaryOp::kAtan:
      return std::atan(x);
    case UnaryOp::kSinh:
      return std::sinh(x);
    case UnaryOp::kCosh:
      return std::cosh(x);
    case UnaryOp::kAsinh:
      return std::asinh(x);
    case UnaryOp::kAcosh:
      return std::acosh(x);
    case UnaryOp::kAtanh:
      return std::atanh(x);
    case UnaryOp::kNot:
    case UnaryOp::kIsFinite:
    case UnaryOp::kPopcount:
    case UnaryOp::kClz:
      break;
  }
  Check(false, "integer operator on a float");
  return 0;
}

int64_t UnaryInteger(UnaryOp op, PrimitiveType type, int64_t x) {
  switch (op) {
    case UnaryOp::kNegate:
      return static_cast<int64_t>(-static_cast<uint64_t>(x));
    case UnaryOp::kAbs:
      return hlo::IsSigned(type) && x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x;
    case UnaryOp::kNot:
      return type == PrimitiveType::kPred ? !x : ~x;
    case UnaryOp::kSign:
      return hlo::IsSigned(type) ? (x > 0) - (x < 0) : x != 0;
    case UnaryOp::kPopcount:
      return std::popcount(LowBits(type, x));
    case UnaryOp::kClz:
      return std::countl_zero(LowBits(type, x)) - (64 - hlo::BitWidth(type));
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRoundEven:
    case UnaryOp::kRoundAfz:
      return x;
    case UnaryOp::kIsFinite:
      return 1;
    default:
      break;
  }
  Check(false, "floating operator on an integer");
  return 0;
}

double MinMaxFloat(bool max, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  const double result = a == b           ? (std::signbit(a) == max ? b : a)  // -0 < +0
                        : (a < b) != max ? a
                                         : b;
  // Subnormal numbers are zero to extremes, as to arithmetic.
  return std::abs(result) < std::numeric_limits<double>::min() ? std::copysign(0, result) : result;
}

double BinaryFloat(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kRem:
      return std::fmod(a, b);
    case BinaryOp::kMin:
      return MinMaxFloat(false, a, b);
    case BinaryOp::kMax:
      return MinMaxFloat(true, a, b);
    case BinaryOp::kPower:
      return std::pow(a, b);
    case BinaryOp::kAtan2:
      return std::atan2(a, b);
    default:
      break;
  }
  Check(false, "integer operator on floats");
  return 0;
}

int64_t IntegerPower(PrimitiveType type, int64_t base, int64_t exponent) {
  if (hlo::IsSigned(type) && exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (uint64_t e = static_cast<uint64_t>(exponent); e != 0; e >>= 1) {
    if ((e & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

int64_t DivideSigned(BinaryOp op, int64_t a, int64_t b) {
  if (b == 0) return op == BinaryOp::kDiv ? -1 : a;
  if (b == -1) return op == BinaryOp::kDiv ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : 0;
  return op == BinaryOp::kDiv ? a / b : a % b;
}

int64_t DivideUnsigned(BinaryOp op, uint64_t a, uint64_t b) {
  if (b == 0) return op == BinaryOp::kDiv ? -1 : static_cast<int64_t>(a);
  return static_cast<int64_t>(op == BinaryOp::kDiv ? a / b : a % b);
}

int64_t Shift(BinaryOp op, PrimitiveType type, int64_t a, int64_t amount) {
  const uint64_t width = hlo::BitWidth(type);
  const uint64_t bits = LowBits(type, amount);  // a negative amount is a huge one
  const bool beyond = bits >= width;
  if (op == BinaryOp::kShiftLeft) return beyond ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << bits);
  if (op == BinaryOp::kShiftRightLogical) return beyond ? 0 : static_cast<int64_t>(LowBits(type, a) >> bits);
  // Arithmetic: of the top bit of the type, for unsigned types as well.
  const int64_t extended = static_cast<int64_t>(LowBits(type, a) << (64 - width)) >> (64 - width);
  return extended >> (beyond ? 63 : bits);
}

int64_t BinaryInteger(BinaryOp op, PrimitiveType type, int64_t a, int64_t b) {
  const bool is_signed = hlo::IsSigned(type);
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool less = is_signed ? a < b : ua < ub;
  switch (op) {
    case BinaryOp::kAdd:
      return type == PrimitiveType::kPred ? a | b : static_cast<int64_t>(ua + ub);
    case BinaryOp::kSub:
      return static_cast<int64_t>(ua - ub);
    case BinaryOp::kMul:
      return type == PrimitiveType::kPred ? a & b : static_cast<int64_t>(ua * ub);
    case BinaryOp::kDiv:
    case BinaryOp::kRem:
      return is_signed ? DivideSigned(op, a, b) : DivideUnsigned(op, ua, ub);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
      Check(b > 0, "index division by a divisor that is not positive");
      return op == BinaryOp::kFloorDiv ? FloorDivide(a, b) : FloorModulo(a, b);
    case BinaryOp::kMin:
      return less ? a : b;
    case BinaryOp::kMax:
      return less ? b : a;
    case BinaryOp::kAnd:
      return a & b;
    case BinaryOp::kOr:
      return a | b;
    case BinaryOp::kXor:
      return a ^ b;
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRightLogical:
    case BinaryOp::kShiftRightArithmetic:
      return Shift(op, type, a, b);
    case BinaryOp::kPower:
      return IntegerPower(type, a, b);
    case BinaryOp::kAtan2:
      break;
  }
  Check(false, "floating operator on integers");
  return 0;
}

// Truncates towards zero and clamps to the type's range.
int64_t FloatToInteger(PrimitiveType type, double x) {
  if (type == PrimitiveType::kPred) return x != 0;
  if (std::isnan(x)) return 0;
  const int bits = hlo::BitWidth(type);
  const double low = hlo::IsSigned(type) ? -std::ldexp(1.0, bits - 1) : 0;
  const double high = std::ldexp(1.0, hlo::IsSigned(type) ? bits - 1 : bits);  // first value beyond
  if (x <= low) {
    if (!hlo::IsSigned(type)) return 0;
    return bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
  }
  if (x >= high) {
    if (!hlo::IsSigned(type)) return bits == 64 ? -1 : (int64_t{1} << bits) - 1;
    return bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
  }
  if (!hlo::IsSigned(type) && bits == 64) return static_cast<int64_t>(static_cast<uint64_t>(x));
  return static_cast<int64_t>(x);
}

}  // namespace

bool ComputesInF16(PrimitiveType type) {
  return hlo::IsFloat(type) && hlo::BitWidth(type) <= 8 && type != PrimitiveType::kF8E8M0FNU;
}

Scalar RoundTo(PrimitiveType type, Scalar value) {
  if (hlo::IsFloat(type)) return {.f = RoundFloat(type, value.f)};
  return {.i = Wrap(type, value.i)};
}

Scalar EvaluateUnary(UnaryOp op, PrimitiveType type, Scalar x) {
  if (hlo::IsFloat(type)) {
    if (op == UnaryOp::kIsFinite) return {.i = std::isfinite(x.f)};
    return {.f = RoundArithmetic(type, UnaryFloat(op, x.f))};
  }
  return {.i = Wrap(type, UnaryInteger(op, type, x.i))};
}

Scalar EvaluateBinary(BinaryOp op, PrimitiveType type, Scalar a, Scalar b) {
  if (hlo::IsFloat(type)) return {.f = RoundArithmetic(type, BinaryFloat(op, a.f, b.f))};
  return {.i = Wrap(type, BinaryInteger(op, type, a.i, b.i))};
}

bool EvaluateCompare(CompareOp op, PrimitiveType type, Scalar a, Scalar b) {
  int order;  // -1, 0, 1; 2: unordered
  if (hlo::IsFloat(type)) {
    order = a.f < b.f ? -1 : a.f > b.f ? 1 : a.f == b.f ? 0 : 2;
  } else if (hlo::IsSigned(type)) {
    order = (a.i > b.i) - (a.i < b.i);
  } else {
    const auto ua = static_cast<uint64_t>(a.i), ub = static_cast<uint64_t>(b.i);
    order = (ua > ub) - (ua < ub);
  }
  switch (op) {
    case CompareOp::kEq:
      return order == 0;
    case CompareOp::kNe:
      return order != 0;
    case CompareOp::kLt:
      return order == -1;
    case CompareOp::kLe:
      return order == -1 || order == 0;
    case CompareOp::kGt:
      return order == 1;
    case CompareOp::kGe:
      return order == 1 || order == 0;
  }
  return false;
}

Scalar EvaluateCast(PrimitiveType from, PrimitiveType to, Scalar x) {
  if (hlo::IsFloat(from)) {
    // Floats of 16 bits come from f64 by way of f32, as in XLA; shorter ones at once.
    const bool twice = from == PrimitiveType::kF64 && hlo::BitWidth(to) == 16;
    if (hlo::IsFloat(to)) return {.f = RoundFloat(to, twice ? static_cast<float>(x.f) : x.f)};
    return {.i = FloatToInteger(to, x.f)};
  }
  if (hlo::IsFloat(to)) {
    const bool huge = !hlo::IsSigned(from) && x.i < 0;
    if (to == PrimitiveType::kF64)
      return {.f = huge ? static_cast<double>(static_cast<uint64_t>(x.i)) : static_cast<double>(x.i)};
    // Straight to f32: going through double would round twice. Shorter types come from f32, as XLA has it.
    return {.f = RoundFloat(to, huge ? static_cast<float>(static_cast<uint64_t>(x.i)) : static_cast<float>(x.i))};
  }
  if (to == PrimitiveType::kPred) return {.i = x.i != 0};
  return {.i = Wrap(to, x.i)};
}

Scalar EvaluateBitCast(PrimitiveType from, PrimitiveType to, Scalar x) {
  unsigned char bytes[8] = {};
  StoreElement(from, bytes, 0, x);
  return LoadElement(to, bytes, 0);
}

Scalar LoadElement(PrimitiveType type, const void* buffer, int64_t index) {
  const int64_t bytes = hlo::StorageBytes(type);
  const auto* from = static_cast<const unsigned char*>(buffer) + index * bytes;
  uint64_t bits = 0;
  std::memcpy(&bits, from, bytes);
  if (type == PrimitiveType::kF32) return {.f = std::bit_cast<float>(static_cast<uint32_t>(bits))};
  if (type == PrimitiveType::kF64) return {.f = std::bit_cast<double>(bits)};
  if (hlo::IsFloat(type)) return {.f = hlo::DecodeFloat(type, static_cast<uint16_t>(bits))};
  if (type == PrimitiveType::kPred) return {.i = bits != 0};
  return {.i = Wrap(type, static_cast<int64_t>(bits))};
}

void StoreElement(PrimitiveType type, void* buffer, int64_t index, Scalar value) {
  const int64_t bytes = hlo::StorageBytes(type);
  uint64_t bits;
  if (type == PrimitiveType::kF32) {
    bits = std::bit_cast<uint32_t>(static_cast<float>(value.f));
  } else if (type == PrimitiveType::kF64) {
    bits = std::bit_cast<uint64_t>(value.f);
  } else if (hlo::IsFloat(type)) {
    bits = hlo::EncodeFloat(type, value.f);
  } else {
    bits = static_cast<uint64_t>(Wrap(type, value.i));
  }
  std::memcpy(static_cast<unsigned char*>(buffer) + index * bytes, &bits, bytes);
}

}  // namespace smelt::kernels::te
