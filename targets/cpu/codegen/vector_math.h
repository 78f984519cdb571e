// Mathematical functions on scalars and vectors of float, and some of double, as LLVM IR: no calls, so they work at any
// vector width.
//
// At most 4 units in the last place over the whole range (each function says less where it is); NaN, infinities, signed
// zeros and subnormal numbers as in C's libm. Polynomials are minimax fits of our own, in double precision, rounded to
// float; fused multiply-adds are explicit, so that no optimisation changes a reduction.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <array>
#include <functional>
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
  llvm::Value* Tan(llvm::Value* x);
  llvm::Value* Asin(llvm::Value* x);
  llvm::Value* Acos(llvm::Value* x);
  llvm::Value* Atan(llvm::Value* x);
  llvm::Value* Atan2(llvm::Value* y, llvm::Value* x);
  llvm::Value* Sinh(llvm::Value* x);
  llvm::Value* Cosh(llvm::Value* x);
  llvm::Value* Asinh(llvm::Value* x);
  llvm::Value* Acosh(llvm::Value* x);
  llvm::Value* Atanh(llvm::Value* x);
  llvm::Value* Cbrt(llvm::Value* x);
  llvm::Value* Pow(llvm::Value* x, llvm::Value* y);
  // x to the power of `halves` / 2, odd and from -7 to 7: a root and products instead of a logarithm, C's special cases
  // included. Of either type.
  llvm::Value* PowOfHalves(llvm::Value* x, int halves);
  // Exact, with x's sign, as fmod is.
  llvm::Value* Remainder(llvm::Value* x, llvm::Value* y);

  // The same of f64.
  llvm::Value* ExpF64(llvm::Value* x);
  llvm::Value* Expm1F64(llvm::Value* x);
  llvm::Value* LogF64(llvm::Value* x);
  llvm::Value* Log1pF64(llvm::Value* x);
  llvm::Value* TanhF64(llvm::Value* x);
  llvm::Value* SinOrCosF64(llvm::Value* x, bool cosine);

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
  // Reduction of sine, cosine and tangent: x = quadrant * pi/2 + r, in double precision.
  llvm::Value* ReduceQuadrant(llvm::Value* x, llvm::Value** quadrant);
  llvm::Value* SinOrCos(llvm::Value* x, bool cosine);
  llvm::Value* SinOrCosSmall(llvm::Value* x, bool cosine);
  llvm::Value* TanSmall(llvm::Value* x);
  // What `small` gives for arguments up to the largest that it reduces exactly; by calls for larger ones.
  llvm::Value* Trigonometric(llvm::Value* x, double largest, const char* function,
                             const std::function<llvm::Value*(llvm::Value*)>& small);

  // The following take and return double precision.
  llvm::Value* Wide(llvm::Value* x);  // of a float
  llvm::Value* Sqrt(llvm::Value* x);
  // The logarithm of a positive normal number; -infinity and infinity of zero and infinity.
  llvm::Value* Log2(llvm::Value* x);
  // |x| is at most 400.
  llvm::Value* Exp2(llvm::Value* x);
  llvm::Value* ExpOfMagnitude(llvm::Value* magnitude);  // e^400 at most
  // The angle of (x, y), neither negative: within [0, pi/2].
  llvm::Value* Arc(llvm::Value* y, llvm::Value* x);
  llvm::Value* OtherLeg(llvm::Value* x);  // sqrt(1 - x^2), NaN beyond one

  llvm::Value* IsNan(llvm::Value* x);
  llvm::Value* SinOrCosSmallF64(llvm::Value* x, bool cosine);
  llvm::Value* WholeF64(llvm::Value* x);       // of a whole number that an i32 holds
  llvm::Value* PowerOfTwoF64(llvm::Value* n);  // of an i32 in the normal range
  // x = n * ln(2) + r with |r| <= ln(2)/2; returns e^r - 1.
  llvm::Value* ReducedExpm1F64(llvm::Value* x, llvm::Value** n);

  // The float nearest to an odd function's value at |x|, with x's sign; NaN stays.
  llvm::Value* NearestWithSignOf(llvm::Value* x, llvm::Value* value);
  llvm::Value* IsSubnormal(llvm::Value* x);
  // `result`, and what a C function says in lanes that are slow, which are rare: they cost a branch.
  llvm::Value* ByLaneWhere(llvm::Value* slow, llvm::Value* result, const char* function,
                           std::initializer_list<llvm::Value*> arguments);

  Builder& builder_;
};

}  // namespace smelt::cpu::codegen
