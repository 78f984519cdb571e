#pragma GCC optimize("O3")

#include <bit>
#include <cmath>
#include <limits>

#include "hlo/evaluator/kernel_table.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// The processor's maximum and minimum take subnormal numbers for zero, although they compute nothing. The C library's
// functions look at bits and take them for numbers, which only tells where what they give is not as small.
constexpr auto kFlushed = []<typename T>(T x) -> T {
  return std::abs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
};

// NaN wins. Of two equal numbers, which differ at most in the sign of zero, the positive one.
constexpr auto kMaximum = []<typename T>(T a, T b) -> T {
  if (a != a || b != b) return a != a ? a : b;
  const T same = std::bit_cast<T>(std::bit_cast<Bits<T>>(a) & std::bit_cast<Bits<T>>(b));
  return kFlushed(a > b ? a : b > a ? b : same);
};
constexpr auto kMinimum = []<typename T>(T a, T b) -> T {
  if (a != a || b != b) return a != a ? a : b;
  const T same = std::bit_cast<T>(std::bit_cast<Bits<T>>(a) | std::bit_cast<Bits<T>>(b));
  return kFlushed(a < b ? a : b < a ? b : same);
};

constexpr auto kSign = []<typename T>(T x) -> T { return x > 0 ? T{1} : x < 0 ? T{-1} : x; };

// The pattern of a number of a format with so many bits of mantissa and this bias, with what reduce-precision leaves of
// it. Subnormal numbers keep so many bits of their place, not of themselves, as XLA has it.
template <typename U>
U ReducePrecision(U bits, int mantissa, int bias, const ElementwiseKernel& kernel) {
  const U sign_bit = U(U{1} << (sizeof(U) * 8 - 1));
  const U infinity = U(U((U{1} << (sizeof(U) * 8 - 1 - mantissa)) - 1) << mantissa);
  const U sign = bits & sign_bit;
  U magnitude = bits & ~sign_bit;
  if (magnitude > infinity) return bits;
  const int dropped = std::max(0, mantissa - kernel.mantissa_bits);
  if (dropped > 0 && magnitude < infinity) {
    const U half = U(U{1} << (dropped - 1));
    magnitude = U(magnitude + half - 1 + (magnitude >> dropped & 1));
    magnitude &= U(~((U{1} << dropped) - 1));
  }
  const int reduced_bias = (1 << (kernel.exponent_bits - 1)) - 1;
  if (reduced_bias < bias) {
    // Beyond the largest exponent: infinity. Below the smallest normal one: zero, subnormals of the format are flushed.
    const int exponent = static_cast<int>(magnitude >> mantissa) - bias;
    if (exponent > reduced_bias) magnitude = infinity;
    if (exponent < 1 - reduced_bias) magnitude = 0;
  }
  return U(sign | magnitude);
}

template <typename T>
void ReducePrecisionLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel& kernel) {
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1, kBias = std::numeric_limits<T>::max_exponent - 1;
  const T* a = static_cast<const T*>(operands[0]);
  T* r = static_cast<T*>(result);
  for (int64_t i = 0; i < count; ++i)
    r[i] = std::bit_cast<T>(ReducePrecision(std::bit_cast<Bits<T>>(a[i]), kMantissa, kBias, kernel));
}

// Numbers of f16, which come as f32, are reduced in their own format: some are subnormal there and not in f32.
void ReducePrecisionF16Loop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel& kernel) {
  const FloatFormat& format = GetFloatFormat(PrimitiveType::kF16);
  const float* a = static_cast<const float*>(operands[0]);
  float* r = static_cast<float*>(result);
  for (int64_t i = 0; i < count; ++i)
    r[i] = Float16ToFloat(ReducePrecision(FloatToFloat16(a[i]), format.mantissa_bits, format.bias, kernel));
}

}  // namespace

void AddFloatKernels(KernelTable& table) {
  auto unary = [&](Opcode opcode, auto f) { AddUnary<float, double>(table, opcode, f); };
  auto binary = [&](Opcode opcode, auto f) { AddBinary<float, double>(table, opcode, f); };

  unary(Opcode::kAbs, []<typename T>(T x) -> T { return std::fabs(x); });
  unary(Opcode::kNegate, []<typename T>(T x) -> T { return -x; });
  unary(Opcode::kCopy, []<typename T>(T x) -> T { return x; });
  unary(Opcode::kReal, []<typename T>(T x) -> T { return x; });
  unary(Opcode::kImag, []<typename T>(T) -> T { return T{0}; });
  unary(Opcode::kSign, kSign);
  unary(Opcode::kCeil, []<typename T>(T x) -> T { return std::ceil(x); });
  unary(Opcode::kFloor, []<typename T>(T x) -> T { return std::floor(x); });
  unary(Opcode::kRoundNearestAfz, []<typename T>(T x) -> T { return std::round(x); });
  unary(Opcode::kRoundNearestEven, []<typename T>(T x) -> T { return std::nearbyint(x); });
  unary(Opcode::kIsFinite, []<typename T>(T x) -> Pred {
    return {static_cast<uint8_t>(std::fabs(x) < std::numeric_limits<T>::infinity())};
  });

  unary(Opcode::kSqrt, []<typename T>(T x) -> T { return std::sqrt(x); });
  unary(Opcode::kRsqrt, []<typename T>(T x) -> T { return T{1} / std::sqrt(x); });
  unary(Opcode::kCbrt, []<typename T>(T x) -> T { return std::cbrt(kFlushed(x)); });
  unary(Opcode::kExp, []<typename T>(T x) -> T { return std::exp(x); });
  unary(Opcode::kExpm1, []<typename T>(T x) -> T { return std::expm1(x); });
  unary(Opcode::kLog, []<typename T>(T x) -> T { return std::log(kFlushed(x)); });
  unary(Opcode::kLog1p, []<typename T>(T x) -> T { return std::log1p(x); });
  unary(Opcode::kLogistic, []<typename T>(T x) -> T { return T{1} / (T{1} + std::exp(-x)); });
  unary(Opcode::kErf, []<typename T>(T x) -> T { return std::erf(x); });
  unary(Opcode::kSin, []<typename T>(T x) -> T { return std::sin(x); });
  unary(Opcode::kCos, []<typename T>(T x) -> T { return std::cos(x); });
  unary(Opcode::kTan, []<typename T>(T x) -> T { return std::tan(x); });
  unary(Opcode::kSinh, []<typename T>(T x) -> T { return std::sinh(x); });
  unary(Opcode::kCosh, []<typename T>(T x) -> T { return std::cosh(x); });
  unary(Opcode::kTanh, []<typename T>(T x) -> T { return std::tanh(x); });
  unary(Opcode::kAsin, []<typename T>(T x) -> T { return std::asin(x); });
  unary(Opcode::kAcos, []<typename T>(T x) -> T { return std::acos(x); });
  unary(Opcode::kAsinh, []<typename T>(T x) -> T { return std::asinh(x); });
  unary(Opcode::kAcosh, []<typename T>(T x) -> T { return std::acosh(x); });
  unary(Opcode::kAtanh, []<typename T>(T x) -> T { return std::atanh(x); });

  binary(Opcode::kAdd, []<typename T>(T a, T b) -> T { return a + b; });
  binary(Opcode::kSubtract, []<typename T>(T a, T b) -> T { return a - b; });
  binary(Opcode::kMultiply, []<typename T>(T a, T b) -> T { return a * b; });
  binary(Opcode::kDivide, []<typename T>(T a, T b) -> T { return a / b; });
  binary(Opcode::kRemainder, []<typename T>(T a, T b) -> T { return std::fmod(a, b); });
  binary(Opcode::kMaximum, kMaximum);
  binary(Opcode::kMinimum, kMinimum);
  binary(Opcode::kPower, []<typename T>(T a, T b) -> T { return std::pow(kFlushed(a), b); });
  binary(Opcode::kAtan2, []<typename T>(T a, T b) -> T { return std::atan2(kFlushed(a), kFlushed(b)); });
  binary(Opcode::kComplex, []<typename T>(T a, T b) -> std::complex<T> { return {a, b}; });

  AddTernary<float, double>(table, Opcode::kClamp, []<typename T>(T low, T x, T high) -> T {
    return decltype(kMinimum){}(decltype(kMaximum){}(low, x), high);
  });
}

ElementwiseKernel::Function FindReducePrecisionLoop(PrimitiveType type) {
  if (type == PrimitiveType::kF16) return &ReducePrecisionF16Loop;
  if (ComputeType(type) == PrimitiveType::kF32) return &ReducePrecisionLoop<float>;
  if (type == PrimitiveType::kF64) return &ReducePrecisionLoop<double>;
  return nullptr;
}

}  // namespace smelt::hlo
