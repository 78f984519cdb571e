#include <cmath>
#include <complex>

#include "hlo/evaluator/kernel_table.h"

namespace smelt::hlo {
namespace {

using Complex = std::complex<double>;

// The plain formula: what a compiler emits, without the library's recovery of infinities.
template <typename T>
std::complex<T> Multiply(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex Log1p(Complex z) {
  const double x = z.real(), y = z.imag();
  return {0.5 * std::log1p(x * (2 + x) + y * y), std::atan2(y, 1 + x)};
}

// cos(y) - 1 = -2 sin(y/2)^2 keeps what cancels.
Complex Expm1(Complex z) {
  const double half = std::sin(z.imag() / 2);
  const double exp_minus_one = std::expm1(z.real());
  return {exp_minus_one * std::cos(z.imag()) - 2 * half * half, (exp_minus_one + 1) * std::sin(z.imag())};
}

Complex Sign(Complex z) {
  const double magnitude = std::abs(z);
  return magnitude == 0 ? Complex(0) : z / magnitude;
}

Complex Power(Complex a, Complex b) {
  if (a == Complex(0)) return b == Complex(0) ? Complex(1) : Complex(0);
  return std::pow(a, b);
}

Complex Cbrt(Complex z) { return z == Complex(0) ? Complex(0) : std::pow(z, Complex(1.0 / 3)); }

// atan2(y, x) = -i log((x + i y) / sqrt(x^2 + y^2)), on complex operands.
Complex Atan2(Complex y, Complex x) {
  const Complex i(0, 1);
  return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
}

// c64 computes in double and rounds once: accuracy is worth more than speed here.
template <typename T, Complex (*kFunction)(Complex)>
void DoubleUnaryLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const auto* a = static_cast<const std::complex<T>*>(operands[0]);
  auto* r = static_cast<std::complex<T>*>(result);
  for (int64_t i = 0; i < count; ++i) r[i] = std::complex<T>(kFunction(Complex(a[i])));
}
template <typename T, Complex (*kFunction)(Complex, Complex)>
void DoubleBinaryLoop(const void* const* operands, void* result, int64_t count, const ElementwiseKernel&) {
  const auto* a = static_cast<const std::complex<T>*>(operands[0]);
  const auto* b = static_cast<const std::complex<T>*>(operands[1]);
  auto* r = static_cast<std::complex<T>*>(result);
  for (int64_t i = 0; i < count; ++i) r[i] = std::complex<T>(kFunction(Complex(a[i]), Complex(b[i])));
}

template <Complex (*kFunction)(Complex)>
void AddFunction(KernelTable& table, Opcode opcode) {
  table.at(opcode, PrimitiveType::kC64) = &DoubleUnaryLoop<float, kFunction>;
  table.at(opcode, PrimitiveType::kC128) = &DoubleUnaryLoop<double, kFunction>;
}
template <Complex (*kFunction)(Complex, Complex)>
void AddFunction(KernelTable& table, Opcode opcode) {
  table.at(opcode, PrimitiveType::kC64) = &DoubleBinaryLoop<float, kFunction>;
  table.at(opcode, PrimitiveType::kC128) = &DoubleBinaryLoop<double, kFunction>;
}

// Library functions as plain ones, so that they can be template arguments.
Complex Exp(Complex z) { return std::exp(z); }
Complex Log(Complex z) { return std::log(z); }
Complex Sqrt(Complex z) { return std::sqrt(z); }
Complex Rsqrt(Complex z) { return 1.0 / std::sqrt(z); }
Complex Logistic(Complex z) { return 1.0 / (1.0 + std::exp(-z)); }
Complex Sin(Complex z) { return std::sin(z); }
Complex Cos(Complex z) { return std::cos(z); }
Complex Tan(Complex z) { return std::tan(z); }
Complex Sinh(Complex z) { return std::sinh(z); }
Complex Cosh(Complex z) { return std::cosh(z); }
Complex Tanh(Complex z) { return std::tanh(z); }
Complex Asin(Complex z) { return std::asin(z); }
Complex Acos(Complex z) { return std::acos(z); }
Complex Asinh(Complex z) { return std::asinh(z); }
Complex Acosh(Complex z) { return std::acosh(z); }
Complex Atanh(Complex z) { return std::atanh(z); }

// The library recovers infinities from quotients of infinite or zero operands, as XLA does; not when the numerator's
// real part is NaN.
Complex Divide(Complex a, Complex b) {
  if (std::isnan(a.real())) return {a.real(), a.real()};
  return a / b;
}

}  // namespace

void AddComplexKernels(KernelTable& table) {
  using C64 = std::complex<float>;
  using C128 = std::complex<double>;
  auto unary = [&](Opcode opcode, auto f) { AddUnary<C64, C128>(table, opcode, f); };
  auto binary = [&](Opcode opcode, auto f) { AddBinary<C64, C128>(table, opcode, f); };

  unary(Opcode::kCopy, []<typename T>(std::complex<T> z) -> std::complex<T> { return z; });
  unary(Opcode::kNegate, []<typename T>(std::complex<T> z) -> std::complex<T> { return -z; });
  unary(Opcode::kReal, []<typename T>(std::complex<T> z) -> T { return z.real(); });
  unary(Opcode::kImag, []<typename T>(std::complex<T> z) -> T { return z.imag(); });
  unary(Opcode::kAbs, []<typename T>(std::complex<T> z) -> T { return static_cast<T>(std::abs(Complex(z))); });
  binary(Opcode::kAdd, []<typename T>(std::complex<T> a, std::complex<T> b) -> std::complex<T> { return a + b; });
  binary(Opcode::kSubtract, []<typename T>(std::complex<T> a, std::complex<T> b) -> std::complex<T> { return a - b; });
  binary(Opcode::kMultiply,
         []<typename T>(std::complex<T> a, std::complex<T> b) -> std::complex<T> { return Multiply(a, b); });
  // Where two have one real part the first one is taken, as XLA:CPU has it.
  binary(Opcode::kMaximum, []<typename T>(std::complex<T> a, std::complex<T> b) -> std::complex<T> {
    return a.real() >= b.real() ? a : b;
  });
  binary(Opcode::kMinimum, []<typename T>(std::complex<T> a, std::complex<T> b) -> std::complex<T> {
    return a.real() <= b.real() ? a : b;
  });

  AddFunction<Divide>(table, Opcode::kDivide);
  AddFunction<Power>(table, Opcode::kPower);
  AddFunction<Atan2>(table, Opcode::kAtan2);
  AddFunction<Exp>(table, Opcode::kExp);
  AddFunction<Expm1>(table, Opcode::kExpm1);
  AddFunction<Log>(table, Opcode::kLog);
  AddFunction<Log1p>(table, Opcode::kLog1p);
  AddFunction<Logistic>(table, Opcode::kLogistic);
  AddFunction<Sqrt>(table, Opcode::kSqrt);
  AddFunction<Rsqrt>(table, Opcode::kRsqrt);
  AddFunction<Cbrt>(table, Opcode::kCbrt);
  AddFunction<Sign>(table, Opcode::kSign);
  AddFunction<Sin>(table, Opcode::kSin);
  AddFunction<Cos>(table, Opcode::kCos);
  AddFunction<Tan>(table, Opcode::kTan);
  AddFunction<Sinh>(table, Opcode::kSinh);
  AddFunction<Cosh>(table, Opcode::kCosh);
  AddFunction<Tanh>(table, Opcode::kTanh);
  AddFunction<Asin>(table, Opcode::kAsin);
  AddFunction<Acos>(table, Opcode::kAcos);
  AddFunction<Asinh>(table, Opcode::kAsinh);
  AddFunction<Acosh>(table, Opcode::kAcosh);
  AddFunction<Atanh>(table, Opcode::kAtanh);
}

}  // namespace smelt::hlo
