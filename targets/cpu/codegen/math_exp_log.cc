#include "targets/cpu/codegen/math_basic.h"

namespace smelt::cpu::codegen {
namespace {

constexpr double kLog2E = 0x1.715476p+0;
// ln(2) in two floats; the high part has trailing zeros, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e400p-1;
constexpr double kLn2Low = 0x1.7f7d1cp-20;

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
constexpr std::array<double, 5> kExpTail = {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.123a0ap-7, 0x1.6a23fp-10};
// (log(1+f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1+f <= sqrt(2).
constexpr std::array<double, 9> kLogTail = {0x1.555548p-2,  -0x1.000006p-2, 0x1.99a4b6p-3,
                                            -0x1.555c4ep-3, 0x1.233768p-3,  -0x1.fc2208p-4,
                                            0x1.e6f06cp-4,  -0x1.de3c14p-4, 0x1.1457a2p-4};

}  // namespace

llvm::Value* VectorMath::ReducedExpm1(llvm::Value* x, llvm::Value** n) {
  *n = Round(builder_.CreateFMul(x, Real(x, kLog2E)));
  llvm::Value* r = Fma(*n, Real(x, -kLn2High), x);
  r = Fma(*n, Real(x, -kLn2Low), r);
  llvm::Value* tail = Polynomial(r, kExpTail);
  return Fma(builder_.CreateFMul(r, r), tail, r);
}

llvm::Value* VectorMath::PowerOfTwo(llvm::Value* n) {
  llvm::Value* bits = builder_.CreateAdd(n, IntegerConstant(n->getType(), 127));
  bits = builder_.CreateShl(bits, IntegerConstant(n->getType(), 23));
  return builder_.CreateBitCast(bits, WithLanes(builder_.getFloatTy(), LanesOf(n->getType())));
}

llvm::Value* VectorMath::Exp(llvm::Value* x) {
  llvm::Value* clamped = Clamp(x, -105.0, 89.5);
  // A NaN must not reach the conversion to an integer; it comes back through the sum below.
  llvm::Value* ordered = builder_.CreateSelect(builder_.CreateFCmpORD(x, x), clamped, Real(x, 0));
  llvm::Value* n;
  llvm::Value* power = builder_.CreateFAdd(ReducedExpm1(ordered, &n), Real(x, 1));
  // 2^n in two factors: the result may be subnormal, or overflow although 2^n alone would.
  llvm::Value* whole = builder_.CreateFPToSI(n, WithLanes(builder_.getInt32Ty(), LanesOf(x->getType())));
  llvm::Value* half = builder_.CreateAShr(whole, IntegerConstant(whole->getType(), 1));
  power = builder_.CreateFMul(power, PowerOfTwo(half));
  power = builder_.CreateFMul(power, PowerOfTwo(builder_.CreateSub(whole, half)));
  return builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), x, power);
}

llvm::Value* VectorMath::Expm1(llvm::Value* x) {
  llvm::Value* clamped = Clamp(x, -30.0, 88.8);
  llvm::Value* ordered = builder_.CreateSelect(builder_.CreateFCmpORD(x, x), clamped, Real(x, 0));
  llvm::Value* n;
  llvm::Value* fraction = ReducedExpm1(ordered, &n);
  // 2 * (2^(n-1) * (e^r - 1) + (2^(n-1) - 1/2)): half of everything, because 2^128 is no float.
  llvm::Value* whole = builder_.CreateFPToSI(n, WithLanes(builder_.getInt32Ty(), LanesOf(x->getType())));
  llvm::Value* scale = PowerOfTwo(builder_.CreateSub(whole, IntegerConstant(whole->getType(), 1)));
  llvm::Value* result = Fma(scale, fraction, builder_.CreateFSub(scale, Real(x, 0.5)));
  result = builder_.CreateFMul(result, Real(x, 2));
  // Tiny arguments, zeros with their signs, and NaN are their own result.
  llvm::Value* own = builder_.CreateFCmpULT(Abs(x), Real(x, 1e-30));
  return builder_.CreateSelect(own, x, result);
}

llvm::Value* VectorMath::Log(llvm::Value* x) {
  llvm::Type* word = WithLanes(builder_.getInt32Ty(), LanesOf(x->getType()));
  // Subnormal numbers are scaled into the normal range first.
  llvm::Value* subnormal = builder_.CreateFCmpOLT(x, Real(x, 0x1p-126));
  llvm::Value* normal = builder_.CreateSelect(subnormal, builder_.CreateFMul(x, Real(x, 0x1p23)), x);
  llvm::Value* bits = builder_.CreateBitCast(normal, word);
  // exponent so that the mantissa lies in [sqrt(1/2), sqrt(2)).
  llvm::Value* exponent = builder_.CreateSub(bits, IntegerConstant(word, 0x3f3504f3));
  exponent = builder_.CreateAShr(exponent, IntegerConstant(word, 23));
  llvm::Value* mantissa = builder_.CreateSub(bits, builder_.CreateShl(exponent, IntegerConstant(word, 23)));
  llvm::Value* scale = builder_.CreateSIToFP(exponent, x->getType());
  scale = builder_.CreateFSub(scale, builder_.CreateSelect(subnormal, Real(x, 23), Real(x, 0)));
  llvm::Value* f = builder_.CreateFSub(builder_.CreateBitCast(mantissa, x->getType()), Real(x, 1));
  llvm::Value* square = builder_.CreateFMul(f, f);
  llvm::Value* result = builder_.CreateFMul(builder_.CreateFMul(square, f), Polynomial(f, kLogTail));
  result = Fma(scale, Real(x, kLn2Low), result);
  result = Fma(square, Real(x, -0.5), result);
  result = builder_.CreateFAdd(f, result);
  result = Fma(scale, Real(x, kLn2High), result);
  result = builder_.CreateSelect(builder_.CreateFCmpOEQ(x, Real(x, 0)), Real(x, -kInfinity), result);
  result = builder_.CreateSelect(builder_.CreateFCmpOLT(x, Real(x, 0)), Real(x, kNan), result);
  // Infinity and NaN are their own logarithm.
  return builder_.CreateSelect(builder_.CreateFCmpULT(x, Real(x, kInfinity)),
                               builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), x, result), x);
}

llvm::Value* VectorMath::Log1p(llvm::Value* x) {
  llvm::Value* sum = builder_.CreateFAdd(x, Real(x, 1));
  // What rounding 1 + x lost, to first order.
  llvm::Value* lost = builder_.CreateFSub(x, builder_.CreateFSub(sum, Real(x, 1)));
  llvm::Value* result = builder_.CreateFAdd(Log(sum), builder_.CreateFDiv(lost, sum));
  llvm::Value* own = builder_.CreateOr(builder_.CreateFCmpOLT(Abs(x), Real(x, 0x1p-30)),
                                       builder_.CreateFCmpOEQ(x, Real(x, kInfinity)));
  result = builder_.CreateSelect(builder_.CreateFCmpOEQ(sum, Real(x, 0)), Real(x, -kInfinity), result);
  return builder_.CreateSelect(own, x, result);
}

llvm::Value* VectorMath::Logistic(llvm::Value* x) {
  // e^-|x| never overflows, and keeps the tail of very negative arguments.
  llvm::Value* z = Exp(builder_.CreateFNeg(Abs(x)));
  llvm::Value* numerator = builder_.CreateSelect(builder_.CreateFCmpOGE(x, Real(x, 0)), Real(x, 1), z);
  return builder_.CreateFDiv(numerator, builder_.CreateFAdd(z, Real(x, 1)));
}

}  // namespace smelt::cpu::codegen
