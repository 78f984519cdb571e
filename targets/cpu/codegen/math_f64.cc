// Functions of f64: at most 4 units in the last place, as those of floats. The polynomials are the heads of the
// functions' series, long enough for what the reductions leave.
#include <limits>

#include "targets/cpu/codegen/math_basic.h"

namespace smelt::cpu::codegen {
namespace {

constexpr double kLog2OfE = 0x1.71547652b82fep+0;
// ln(2) in two parts; the high one has trailing zeros, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42fefp-1, kLn2Low = 0x1.473de6af278edp-34;
// pi/2 in three parts, which reduce arguments below kLargest.
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1, kLargest = 0x1p20;
constexpr std::array<double, 3> kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};

// (-1)^(k sign) / (first + k step)! for k = 0, 1, ...
template <size_t N>
constexpr std::array<double, N> Factorials(int first, int step, double sign) {
  std::array<double, N> series{};
  for (size_t k = 0; k < N; ++k) {
    double factorial = 1;
    for (int i = 2; i <= first + static_cast<int>(k) * step; ++i) factorial *= i;
    series[k] = (k % 2 == 0 ? 1 : sign) / factorial;
  }
  return series;
}

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
constexpr auto kExpTail = Factorials<13>(2, 1, 1);
// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 in r^2, negated: |r| <= pi/4.
constexpr auto kSinTail = Factorials<8>(3, 2, -1);
constexpr auto kCosTail = Factorials<8>(4, 2, -1);
// (atanh(s)/s - 1) / s^2 in s^2, times two, for |s| <= (sqrt(2)-1)/(sqrt(2)+1).
constexpr std::array<double, 10> kLogTail = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                             2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};

}  // namespace

llvm::Value* VectorMath::IsNan(llvm::Value* x) { return builder_.CreateFCmpUNO(x, x); }

llvm::Value* VectorMath::WholeF64(llvm::Value* x) {
  return builder_.CreateFPToSI(x, WithLanes(builder_.getInt32Ty(), LanesOf(x->getType())));
}

llvm::Value* VectorMath::PowerOfTwoF64(llvm::Value* n) {
  llvm::Type* word = WithLanes(builder_.getInt64Ty(), LanesOf(n->getType()));
  llvm::Value* bits = builder_.CreateAdd(builder_.CreateSExt(n, word), IntegerConstant(word, 1023));
  bits = builder_.CreateShl(bits, IntegerConstant(word, 52));
  return builder_.CreateBitCast(bits, WithLanes(builder_.getDoubleTy(), LanesOf(n->getType())));
}

llvm::Value* VectorMath::ReducedExpm1F64(llvm::Value* x, llvm::Value** n) {
  llvm::Value* rounded = Round(builder_.CreateFMul(x, Real(x, kLog2OfE)));
  llvm::Value* r = Fma(rounded, Real(x, -kLn2Low), Fma(rounded, Real(x, -kLn2High), x));
  *n = WholeF64(rounded);
  return Fma(builder_.CreateFMul(r, r), Polynomial(r, kExpTail), r);
}

llvm::Value* VectorMath::ExpF64(llvm::Value* x) {
  // A NaN must not reach the conversion to an integer.
  llvm::Value* ordered = builder_.CreateSelect(IsNan(x), Real(x, 0), Clamp(x, -746, 710));
  llvm::Value* n;
  llvm::Value* power = builder_.CreateFAdd(ReducedExpm1F64(ordered, &n), Real(x, 1));
  // 2^n in two factors: the result may be subnormal, or overflow although 2^n alone would.
  llvm::Value* half = builder_.CreateAShr(n, IntegerConstant(n->getType(), 1));
  power = builder_.CreateFMul(power, PowerOfTwoF64(half));
  power = builder_.CreateFMul(power, PowerOfTwoF64(builder_.CreateSub(n, half)));
  return builder_.CreateSelect(IsNan(x), x, power);
}

llvm::Value* VectorMath::Expm1F64(llvm::Value* x) {
  llvm::Value* ordered = builder_.CreateSelect(IsNan(x), Real(x, 0), Clamp(x, -60, 710));
  llvm::Value* n;
  llvm::Value* fraction = ReducedExpm1F64(ordered, &n);
  // Twice the half of everything, because 2^1024 is no number.
  llvm::Value* scale = PowerOfTwoF64(builder_.CreateSub(n, IntegerConstant(n->getType(), 1)));
  llvm::Value* result = Fma(scale, fraction, builder_.CreateFSub(scale, Real(x, 0.5)));
  result = builder_.CreateFMul(result, Real(x, 2));
  // Tiny arguments are their own result, with their sign.
  llvm::Value* own = builder_.CreateFCmpULT(Abs(x), Real(x, 0x1p-54));
  return builder_.CreateSelect(own, x, builder_.CreateSelect(IsNan(x), x, result));
}

llvm::Value* VectorMath::LogF64(llvm::Value* x) {
  llvm::Type* word = WithLanes(builder_.getInt64Ty(), LanesOf(x->getType()));
  llvm::Value* subnormal = builder_.CreateFCmpOLT(x, Real(x, std::numeric_limits<double>::min()));
  llvm::Value* normal = builder_.CreateSelect(subnormal, builder_.CreateFMul(x, Real(x, 0x1p54)), x);
  llvm::Value* bits = builder_.CreateBitCast(normal, word);
  llvm::Value* exponent = builder_.CreateSub(bits, IntegerConstant(word, 0x3fe6a09e667f3bcd));
  exponent = builder_.CreateAShr(exponent, IntegerConstant(word, 52));
  llvm::Value* m = builder_.CreateBitCast(
      builder_.CreateSub(bits, builder_.CreateShl(exponent, IntegerConstant(word, 52))), x->getType());
  llvm::Value* k = builder_.CreateSIToFP(
      builder_.CreateTrunc(exponent, WithLanes(builder_.getInt32Ty(), LanesOf(x->getType()))), x->getType());
  k = builder_.CreateSelect(subnormal, builder_.CreateFSub(k, Real(k, 54)), k);
  // log(1 + f) = 2s + s R with s = f / (2 + f), and 2s = f - s f: what is rounded is small beside f.
  llvm::Value* f = builder_.CreateFSub(m, Real(m, 1));
  llvm::Value* s = builder_.CreateFDiv(f, builder_.CreateFAdd(f, Real(f, 2)));
  llvm::Value* z = builder_.CreateFMul(s, s);
  llvm::Value* series = builder_.CreateFMul(z, Polynomial(z, kLogTail));
  llvm::Value* small = builder_.CreateFMul(s, builder_.CreateFSub(f, series));
  small = builder_.CreateFSub(small, builder_.CreateFMul(k, Real(k, kLn2Low)));
  llvm::Value* result = Fma(k, Real(k, kLn2High), builder_.CreateFSub(f, small));
  const auto at = [&](double value, double there) {
    result = builder_.CreateSelect(builder_.CreateFCmpOEQ(x, Real(x, value)), Real(x, there), result);
  };
  at(0, -kInfinity);
  at(kInfinity, kInfinity);
  return builder_.CreateSelect(builder_.CreateFCmpULT(x, Real(x, 0)), Real(x, kNan), result);
}

llvm::Value* VectorMath::Log1pF64(llvm::Value* x) {
  // log(u) of the rounded sum u, and what the rounding left of x.
  llvm::Value* one = Real(x, 1);
  llvm::Value* u = builder_.CreateFAdd(x, one);
  llvm::Value* from_one = builder_.CreateFSub(x, builder_.CreateFSub(u, one));
  llvm::Value* from_x = builder_.CreateFSub(one, builder_.CreateFSub(u, x));
  llvm::Value* left = builder_.CreateSelect(builder_.CreateFCmpOLT(x, one), from_one, from_x);
  llvm::Value* result = builder_.CreateFAdd(LogF64(u), builder_.CreateFDiv(left, u));
  // Where the sum is zero, infinite or negative there is no rest to add.
  llvm::Value* plain =
      builder_.CreateAnd(builder_.CreateFCmpOGT(u, Real(u, 0)), builder_.CreateFCmpOLT(u, Real(u, kInfinity)));
  result = builder_.CreateSelect(plain, result, LogF64(u));
  llvm::Value* own = builder_.CreateFCmpULT(Abs(x), Real(x, 0x1p-54));
  return builder_.CreateSelect(own, x, result);
}

llvm::Value* VectorMath::TanhF64(llvm::Value* x) {
  // tanh |x| is -p / (2 + p) with p = e^(-2|x|) - 1.
  llvm::Value* p = Expm1F64(builder_.CreateFMul(Abs(x), Real(x, -2)));
  llvm::Value* value = builder_.CreateFDiv(builder_.CreateFNeg(p), builder_.CreateFAdd(p, Real(p, 2)));
  llvm::Value* own = builder_.CreateFCmpULT(Abs(x), Real(x, 1e-200));  // and NaN
  return builder_.CreateSelect(own, x, CopySign(value, x));
}

llvm::Value* VectorMath::SinOrCosSmallF64(llvm::Value* x, bool cosine) {
  llvm::Value* n = Round(builder_.CreateFMul(x, Real(x, kTwoOverPi)));
  llvm::Value* r = x;
  for (const double part : kHalfPi) r = Fma(n, Real(x, -part), r);
  llvm::Value* quadrant = WholeF64(n);
  llvm::Type* word = quadrant->getType();
  if (cosine) quadrant = builder_.CreateAdd(quadrant, IntegerConstant(word, 1));

  llvm::Value* z = builder_.CreateFMul(r, r);
  llvm::Value* sine = Fma(builder_.CreateFMul(builder_.CreateFNeg(z), r), Polynomial(z, kSinTail), r);
  // 1 - z/2 is rounded once; what that leaves is added back.
  llvm::Value* half = builder_.CreateFMul(z, Real(z, 0.5));
  llvm::Value* head = builder_.CreateFSub(Real(z, 1), half);
  llvm::Value* rest = builder_.CreateFSub(builder_.CreateFSub(Real(z, 1), head), half);
  llvm::Value* cosine_value = builder_.CreateFAdd(head, Fma(builder_.CreateFMul(z, z), Polynomial(z, kCosTail), rest));
  const auto bit = [&](int64_t which) {
    return builder_.CreateICmpNE(builder_.CreateAnd(quadrant, IntegerConstant(word, which)), IntegerConstant(word, 0));
  };
  llvm::Value* value = builder_.CreateSelect(bit(1), cosine_value, sine);
  value = builder_.CreateSelect(bit(2), builder_.CreateFNeg(value), value);
  return cosine ? value : builder_.CreateSelect(builder_.CreateFCmpOEQ(x, Real(x, 0)), x, value);
}

llvm::Value* VectorMath::SinOrCosF64(llvm::Value* x, bool cosine) {
  return Trigonometric(x, kLargest, cosine ? "cos" : "sin",
                       [&](llvm::Value* near) { return SinOrCosSmallF64(near, cosine); });
}

}  // namespace smelt::cpu::codegen
