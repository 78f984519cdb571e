// Mathematical functions on scalars and vectors of float, as LLVM IR: no calls, so they work at any vector width.
//
// At most 4 units in the last place over the whole range (each function says less where it is); NaN, infinities, signed
// zeros and subnormal numbers as in C's libm. Polynomials are minimax fits of our own, in double precision, rounded to
// float; fused multiply-adds are explicit, so that no optimisation changes a reduction.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <array>
#include <initializer_list>

#include "targets/cpu/codegen/element_types.h"

namespace smelt::cpu::codegen {

class VectorMath {
 public:
  explicit VectorMath(Builder& builder) : builder_(builder) {}

  // Each takes and returns a float or a vector of float.
  llvm::Value* Exp(llvm::Value* x);
  llvm::Value* Expm1(llvm::Value* x);
  llvm::Value* Log(llvm::Value* x);
  llvm::Value* Log1p(llvm::Value* x);
  llvm::Value* Tanh(llvm::Value* x);
  llvm::Value* Logistic(llvm::Value* x);
  llvm::Value* Erf(llvm::Value* x);
  llvm::Value* Sin(llvm::Value* x);
  llvm::Value* Cos(llvm::Value* x);
  llvm::Value* Pow(llvm::Value* x, llvm::Value* y);

  // Any C function of libm, lane by lane: `float` or `double` arguments of one type.
  llvm::Value* CallByLane(const char* function, std::initializer_list<llvm::Value*> arguments);

 private:
  llvm::Value* Real(llvm::Value* like, double value) { return RealConstant(like->getType(), value); }
  llvm::Value* Fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* Round(llvm::Value* x);
  llvm::Value* Abs(llvm::Value* x);
  llvm::Value* CopySign(llvm::Value* magnitude, llvm::Value* sign);
  // Clamps, and keeps NaN.
  llvm::Value* Clamp(llvm::Value* x, double low, double high);
  // Horner's rule, coefficients from the constant term up.
  template <size_t N>
  llvm::Value* Polynomial(llvm::Value* x, const std::array<double, N>& coefficients);
  // x = n * ln(2) + r with |r| <= ln(2)/2; returns e^r - 1.
  llvm::Value* ReducedExpm1(llvm::Value* x, llvm::Value** n);
  // e^x - 1 for x in [-80, 0.5].
  llvm::Value* Expm1OfNegative(llvm::Value* x);
  // 2^n for the integer n in a float's normal range.
  llvm::Value* PowerOfTwo(llvm::Value* n);
  // Reduction of sine and cosine: x = quadrant * pi/2 + r.
  llvm::Value* SinOrCos(llvm::Value* x, bool cosine);
  llvm::Value* SinOrCosSmall(llvm::Value* x, bool cosine);

  Builder& builder_;
};

}  // namespace smelt::cpu::codegen
