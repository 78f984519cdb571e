#include <limits>

#include "targets/cpu/codegen/math_basic.h"

namespace smelt::cpu::codegen {
namespace {

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 as polynomials in r^2, |r| <= pi/4.
constexpr std::array<double, 4> kSinTail = {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00f74p-13, 0x1.6ccf5ep-19};
constexpr std::array<double, 4> kCosTail = {0x1.555556p-5, -0x1.6c16b8p-10, 0x1.a010d6p-16, -0x1.241caap-22};
// sin(r)/r and cos(r) for |r| <= pi/4 in r^2, in double precision: the heads of their series.
constexpr std::array<double, 6> kSinSeries = {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800};
constexpr std::array<double, 7> kCosSeries = {1,           -1.0 / 2,       1.0 / 24,       -1.0 / 720,
                                              1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
// Up to here two doubles of pi/2 reduce exactly enough; beyond, libm does it.
constexpr double kLargest = 0x1p28;

}  // namespace

llvm::Value* VectorMath::ReduceQuadrant(llvm::Value* x, llvm::Value** quadrant) {
  llvm::Value* wide = Wide(x);
  llvm::Value* n = Round(builder_.CreateFMul(wide, Real(wide, kTwoOverPi)));
  *quadrant = builder_.CreateFPToSI(n, WithLanes(builder_.getInt32Ty(), LanesOf(x->getType())));
  return Fma(n, Real(wide, -kHalfPiLow), Fma(n, Real(wide, -kHalfPiHigh), wide));
}

llvm::Value* VectorMath::SinOrCosSmall(llvm::Value* x, bool cosine) {
  llvm::Value* quadrant;
  llvm::Value* r = builder_.CreateFPTrunc(ReduceQuadrant(x, &quadrant), x->getType());
  llvm::Type* word = quadrant->getType();
  if (cosine) quadrant = builder_.CreateAdd(quadrant, IntegerConstant(word, 1));

  llvm::Value* z = builder_.CreateFMul(r, r);
  llvm::Value* sine = Fma(builder_.CreateFMul(z, r), Polynomial(z, kSinTail), r);
  llvm::Value* cosine_value =
      Fma(builder_.CreateFMul(z, z), Polynomial(z, kCosTail), Fma(z, Real(x, -0.5), Real(x, 1)));
  llvm::Value* swap =
      builder_.CreateICmpNE(builder_.CreateAnd(quadrant, IntegerConstant(word, 1)), IntegerConstant(word, 0));
  llvm::Value* value = builder_.CreateSelect(swap, cosine_value, sine);
  llvm::Value* negative =
      builder_.CreateICmpNE(builder_.CreateAnd(quadrant, IntegerConstant(word, 2)), IntegerConstant(word, 0));
  return builder_.CreateSelect(negative, builder_.CreateFNeg(value), value);
}

// Both are in double precision: a quotient of two rounded floats would be off by their errors.
llvm::Value* VectorMath::TanSmall(llvm::Value* x) {
  llvm::Value* quadrant;
  llvm::Value* r = ReduceQuadrant(x, &quadrant);
  llvm::Value* z = builder_.CreateFMul(r, r);
  llvm::Value* sine = builder_.CreateFMul(r, Polynomial(z, kSinSeries));
  llvm::Value* cosine = Polynomial(z, kCosSeries);
  llvm::Type* word = quadrant->getType();
  llvm::Value* odd =
      builder_.CreateICmpNE(builder_.CreateAnd(quadrant, IntegerConstant(word, 1)), IntegerConstant(word, 0));
  llvm::Value* above = builder_.CreateSelect(odd, builder_.CreateFNeg(cosine), sine);
  llvm::Value* below = builder_.CreateSelect(odd, sine, cosine);
  return builder_.CreateFPTrunc(builder_.CreateFDiv(above, below), x->getType());
}

llvm::Value* VectorMath::Trigonometric(llvm::Value* x, double largest, const char* function,
                                       const std::function<llvm::Value*(llvm::Value*)>& small) {
  llvm::Value* magnitude = Abs(x);
  llvm::Value* near = builder_.CreateFCmpOLT(magnitude, Real(x, largest));
  llvm::Value* finite = builder_.CreateFCmpOLT(magnitude, Real(x, std::numeric_limits<double>::infinity()));
  llvm::Value* result = small(builder_.CreateSelect(near, x, Real(x, 0)));
  result = ByLaneWhere(builder_.CreateAnd(finite, builder_.CreateNot(near)), result, function, {x});
  // Infinity minus itself is NaN, and a NaN stays.
  return builder_.CreateSelect(finite, result, builder_.CreateFSub(x, x));
}

llvm::Value* VectorMath::SinOrCos(llvm::Value* x, bool cosine) {
  return Trigonometric(x, kLargest, cosine ? "cosf" : "sinf", [&](llvm::Value* near) {
    llvm::Value* value = SinOrCosSmall(near, cosine);
    return cosine ? value : builder_.CreateSelect(builder_.CreateFCmpOEQ(near, Real(x, 0)), near, value);
  });
}

llvm::Value* VectorMath::Tan(llvm::Value* x) {
  return Trigonometric(x, kLargest, "tanf", [&](llvm::Value* near) {
    return builder_.CreateSelect(builder_.CreateFCmpOEQ(near, Real(x, 0)), near, TanSmall(near));
  });
}

llvm::Value* VectorMath::Sin(llvm::Value* x) { return SinOrCos(x, false); }
llvm::Value* VectorMath::Cos(llvm::Value* x) { return SinOrCos(x, true); }

}  // namespace smelt::cpu::codegen
