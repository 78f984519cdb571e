#include <llvm/IR/Intrinsics.h>

#include <cstdlib>

#include "targets/cpu/codegen/math_basic.h"

namespace smelt::cpu::codegen {
namespace {

// atanh(s)/s as a polynomial in s^2, for |s| <= (sqrt(2)-1)/(sqrt(2)+1), relative error 2e-14.
constexpr std::array<double, 6> kAtanh = {0x1.fffffffffff0ep-1, 0x1.55555556752cep-2, 0x1.99999622ac27dp-3,
                                          0x1.24943bf7c4f5cp-3, 0x1.c61fa913242efp-4, 0x1.91a57d6a8fefbp-4};
// 2^f for |f| <= 1/2, relative error 8e-13.
constexpr std::array<double, 9> kExp2 = {0x1.ffffffffff7a4p-1,  0x1.62e42fef86160p-1,  0x1.ebfbdff9319d8p-3,
                                         0x1.c6b08dd46d8c4p-5,  0x1.3b2ab5c52e910p-7,  0x1.5d874838051e0p-10,
                                         0x1.430acc96fff00p-13, 0x1.00dad27e2c200p-16, 0x1.61afddbaf1800p-20};
constexpr double kTwoOverLn2 = 0x1.71547652b82fep+1;

}  // namespace

llvm::Value* VectorMath::Log2(llvm::Value* x) {
  const int lanes = LanesOf(x->getType());
  llvm::Type* word = WithLanes(builder_.getInt64Ty(), lanes);
  llvm::Value* bits = builder_.CreateBitCast(x, word);
  llvm::Value* exponent = builder_.CreateSub(bits, IntegerConstant(word, 0x3fe6a09e667f3bcd));
  exponent = builder_.CreateAShr(exponent, IntegerConstant(word, 52));
  llvm::Value* mantissa = builder_.CreateSub(bits, builder_.CreateShl(exponent, IntegerConstant(word, 52)));
  llvm::Value* m = builder_.CreateBitCast(mantissa, x->getType());
  llvm::Value* s = builder_.CreateFDiv(builder_.CreateFSub(m, Real(x, 1)), builder_.CreateFAdd(m, Real(x, 1)));
  llvm::Value* series = Polynomial(builder_.CreateFMul(s, s), kAtanh);
  // The exponent fits an i32, whose conversion every vector unit has.
  llvm::Value* scale =
      builder_.CreateSIToFP(builder_.CreateTrunc(exponent, WithLanes(builder_.getInt32Ty(), lanes)), x->getType());
  llvm::Value* log2 = Fma(builder_.CreateFMul(s, Real(x, kTwoOverLn2)), series, scale);
  log2 = builder_.CreateSelect(builder_.CreateFCmpOEQ(x, Real(x, 0)), Real(x, -kInfinity), log2);
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(x, Real(x, kInfinity)), Real(x, kInfinity), log2);
}

llvm::Value* VectorMath::Exp2(llvm::Value* x) {
  const int lanes = LanesOf(x->getType());
  llvm::Type* word = WithLanes(builder_.getInt64Ty(), lanes);
  llvm::Value* n = Round(x);
  llvm::Value* power = Polynomial(builder_.CreateFSub(x, n), kExp2);
  llvm::Value* whole = builder_.CreateFPToSI(n, WithLanes(builder_.getInt32Ty(), lanes));
  llvm::Value* shift = builder_.CreateSExt(whole, word);
  shift = builder_.CreateShl(builder_.CreateAdd(shift, IntegerConstant(word, 1023)), IntegerConstant(word, 52));
  return builder_.CreateFMul(power, builder_.CreateBitCast(shift, x->getType()));
}

// 2^(y log2|x|) in double precision, which leaves float accuracy after any cancellation, and C's special cases.
llvm::Value* VectorMath::Pow(llvm::Value* x, llvm::Value* y) {
  llvm::Value* magnitude = Wide(Abs(x));
  llvm::Value* exponent_of = Wide(y);
  llvm::Value* log2 = Log2(magnitude);
  auto real = [&](double value) { return Real(magnitude, value); };

  llvm::Value* product = builder_.CreateFMul(exponent_of, log2);
  // 1^y and x^0 are 1, whatever the other one is.
  llvm::Value* one =
      builder_.CreateOr(builder_.CreateFCmpOEQ(magnitude, real(1)), builder_.CreateFCmpOEQ(exponent_of, real(0)));
  product = builder_.CreateSelect(one, real(0), product);
  llvm::Value* is_nan = builder_.CreateFCmpUNO(product, product);
  product = Clamp(builder_.CreateSelect(is_nan, real(0), product), -400, 400);
  llvm::Value* power = Exp2(product);
  llvm::Value* result = builder_.CreateFPTrunc(power, x->getType());
  // 1 exactly, which the polynomial's constant term is not.
  result = builder_.CreateSelect(builder_.CreateFCmpOEQ(product, real(0)), Real(x, 1), result);

  // Negative bases: the sign of an odd exponent; NaN for one that is no integer.
  auto floor = [&](llvm::Value* v) { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v); };
  llvm::Value* half = builder_.CreateFMul(y, Real(y, 0.5));
  llvm::Value* integral = builder_.CreateFCmpOEQ(y, floor(y));
  llvm::Value* odd = builder_.CreateAnd(integral, builder_.CreateFCmpONE(half, floor(half)));
  llvm::Value* signed_result = CopySign(result, x);
  result = builder_.CreateSelect(odd, signed_result, result);
  llvm::Value* nan = Real(x, kNan);
  llvm::Value* finite_negative =
      builder_.CreateAnd(builder_.CreateFCmpOLT(x, Real(x, 0)), builder_.CreateFCmpOGT(x, Real(x, -kInfinity)));
  llvm::Value* undefined = builder_.CreateAnd(finite_negative, builder_.CreateNot(integral));
  // An integral test is false for NaN exponents too, which are NaN anyway.
  result = builder_.CreateSelect(undefined, nan, result);
  result = builder_.CreateSelect(is_nan, nan, result);
  llvm::Value* unordered = builder_.CreateFCmpUNO(x, y);
  result = builder_.CreateSelect(unordered, nan, result);
  llvm::Value* always_one =
      builder_.CreateOr(builder_.CreateFCmpOEQ(y, Real(y, 0)), builder_.CreateFCmpOEQ(x, Real(x, 1)));
  return builder_.CreateSelect(always_one, Real(x, 1), result);
}

llvm::Value* VectorMath::PowOfHalves(llvm::Value* x, int halves) {
  llvm::Value* base = builder_.CreateFAdd(x, Real(x, 0));  // -0 counts as 0
  llvm::Value* power = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, base);
  if (halves < 0) {
    // One by one: the inverse of a product that overflows may be a number.
    power = builder_.CreateFDiv(Real(x, 1), power);
    base = builder_.CreateFDiv(Real(x, 1), base);
  }
  for (int n = std::abs(halves) / 2; n > 0; --n) power = builder_.CreateFMul(power, base);
  llvm::Value* minus_infinite = builder_.CreateFCmpOEQ(x, Real(x, -kInfinity));
  return builder_.CreateSelect(minus_infinite, Real(x, halves < 0 ? 0 : kInfinity), power);
}

}  // namespace smelt::cpu::codegen
