// Functions that saturate, through e^x - 1, which is accurate on both sides of zero.
#include "targets/cpu/codegen/math_basic.h"

namespace smelt::cpu::codegen {
namespace {

// erf(x) = x + x S(x^2) for |x| < 0.92, relative error 4e-10.
constexpr double kErfSplit = 0.92;
constexpr std::array<double, 7> kErfSmall = {0x1.06eba8p-3, -0x1.812744p-2,  0x1.ce2e24p-4, -0x1.b810e8p-6,
                                             0x1.54df1cp-8, -0x1.ab1068p-11, 0x1.5f9562p-14};
// erf(x) = 1 - e^-G(x) for 0.92 <= x <= 3.93, beyond which it rounds to 1; relative error 2e-9.
constexpr std::array<double, 7> kErfLarge = {0x1.9a5c34p-13, 0x1.20af5ap+0, 0x1.463ccp-1,   0x1.a9b42ep-4,
                                             -0x1.6c2a78p-6, 0x1.8ee174p-9, -0x1.9ae90ap-13};

}  // namespace

llvm::Value* VectorMath::Expm1OfNegative(llvm::Value* x) {
  llvm::Value* n;
  llvm::Value* fraction = ReducedExpm1(x, &n);
  llvm::Value* whole = builder_.CreateFPToSI(n, WithLanes(builder_.getInt32Ty(), LanesOf(x->getType())));
  llvm::Value* scale = PowerOfTwo(whole);
  return Fma(scale, fraction, builder_.CreateFSub(scale, Real(x, 1)));
}

llvm::Value* VectorMath::Tanh(llvm::Value* x) {
  // With p = e^(-2|x|) - 1: tanh |x| = -p / (2 + p). From 10 on it is 1.
  llvm::Value* doubled = builder_.CreateFMul(Abs(x), Real(x, -2));
  llvm::Value* in_range = builder_.CreateFCmpOGT(doubled, Real(x, -20));
  llvm::Value* p = Expm1OfNegative(builder_.CreateSelect(in_range, doubled, Real(x, -20)));
  llvm::Value* result = builder_.CreateFDiv(builder_.CreateFNeg(p), builder_.CreateFAdd(p, Real(x, 2)));
  result = CopySign(result, x);
  // Tiny arguments, whose double might be rounded, and NaN are their own result.
  llvm::Value* own = builder_.CreateFCmpULT(Abs(x), Real(x, 1e-30));
  return builder_.CreateSelect(own, x, result);
}

llvm::Value* VectorMath::Erf(llvm::Value* x) {
  llvm::Value* magnitude = Abs(x);
  llvm::Value* is_small = builder_.CreateFCmpULT(magnitude, Real(x, kErfSplit));
  llvm::Value* small = Fma(x, Polynomial(builder_.CreateFMul(x, x), kErfSmall), x);
  llvm::Value* below = builder_.CreateFCmpOLT(magnitude, Real(x, 3.93));
  llvm::Value* clamped = builder_.CreateSelect(below, magnitude, Real(x, 3.93));
  llvm::Value* p = Expm1OfNegative(builder_.CreateFNeg(Polynomial(clamped, kErfLarge)));
  return builder_.CreateSelect(is_small, small, CopySign(builder_.CreateFNeg(p), x));
}

}  // namespace smelt::cpu::codegen
