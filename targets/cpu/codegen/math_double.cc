// Functions of floats that go through double precision, where their cancellations and quotients leave float accuracy:
// arcs, hyperbolic functions and their inverses, the tangent's quotient, cube roots, remainders.
#include <llvm/IR/Intrinsics.h>

#include "targets/cpu/codegen/math_basic.h"

namespace smelt::cpu::codegen {
namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLog2OfE = 0x1.71547652b82fep+0;
// atan(t)/t as a polynomial in t^2, 0 <= t <= 1, relative error 1e-11.
constexpr std::array<double, 13> kAtan = {
    0x1.ffffffffeaa6cp-1,  -0x1.5555551b37822p-2, 0x1.99997f3b2eab3p-3,  -0x1.248feac1c21dap-3, 0x1.c6e33ed9c1357p-4,
    -0x1.72bc0da9afc04p-4, 0x1.334a996b37bb4p-4,  -0x1.eead8c63726bep-5, 0x1.67a700f239e6ap-5,  -0x1.ae6f00c73011dp-6,
    0x1.7c2f635483b03p-7,  -0x1.ab7d626dac74dp-9, 0x1.c30f953dfd8b2p-12};
// Taylor series in the square, of functions that cancel near zero; each to the argument below.
constexpr std::array<double, 4> kSinh = {1, 1.0 / 6, 1.0 / 120, 1.0 / 5040};
constexpr std::array<double, 3> kAsinh = {1, -1.0 / 6, 3.0 / 40};
constexpr std::array<double, 3> kAtanhSeries = {1, 1.0 / 3, 1.0 / 5};
constexpr double kSmallSinh = 0.05, kSmallInverse = 0.01;
// Quotients below this have whole parts whose product with a float is exact in double precision.
constexpr double kLargestQuotient = 0x1p28;

}  // namespace

llvm::Value* VectorMath::Wide(llvm::Value* x) {
  return builder_.CreateFPExt(x, WithLanes(builder_.getDoubleTy(), LanesOf(x->getType())));
}

llvm::Value* VectorMath::Sqrt(llvm::Value* x) { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }

llvm::Value* VectorMath::NearestWithSignOf(llvm::Value* x, llvm::Value* value) {
  value = CopySign(builder_.CreateFPTrunc(value, x->getType()), x);
  return builder_.CreateSelect(IsNan(x), x, value);
}

llvm::Value* VectorMath::Arc(llvm::Value* y, llvm::Value* x) {
  llvm::Value* steep = builder_.CreateFCmpOGT(y, x);
  llvm::Value* high = builder_.CreateSelect(steep, y, x);
  llvm::Value* low = builder_.CreateSelect(steep, x, y);
  llvm::Value* ratio = builder_.CreateFDiv(low, high);
  ratio = builder_.CreateSelect(builder_.CreateFCmpOEQ(high, Real(high, 0)), Real(high, 0), ratio);
  llvm::Value* both = builder_.CreateAnd(builder_.CreateFCmpOEQ(low, Real(low, kInfinity)),
                                         builder_.CreateFCmpOEQ(high, Real(high, kInfinity)));
  ratio = builder_.CreateSelect(both, Real(low, 1), ratio);
  llvm::Value* angle = builder_.CreateFMul(ratio, Polynomial(builder_.CreateFMul(ratio, ratio), kAtan));
  return builder_.CreateSelect(steep, builder_.CreateFSub(Real(angle, kPi / 2), angle), angle);
}

llvm::Value* VectorMath::Atan(llvm::Value* x) {
  llvm::Value* magnitude = Wide(Abs(x));
  return NearestWithSignOf(x, Arc(magnitude, Real(magnitude, 1)));
}

llvm::Value* VectorMath::Atan2(llvm::Value* y, llvm::Value* x) {
  llvm::Value* angle = Arc(Wide(Abs(y)), Wide(Abs(x)));
  llvm::Value* word = IntegerConstant(WithLanes(builder_.getInt32Ty(), LanesOf(x->getType())), 0);
  llvm::Value* left = builder_.CreateICmpSLT(builder_.CreateBitCast(x, word->getType()), word);  // -0 as well
  angle = builder_.CreateSelect(left, builder_.CreateFSub(Real(angle, kPi), angle), angle);
  return builder_.CreateSelect(IsNan(x), x, NearestWithSignOf(y, angle));
}

llvm::Value* VectorMath::OtherLeg(llvm::Value* x) {
  return Sqrt(builder_.CreateFMul(builder_.CreateFSub(Real(x, 1), x), builder_.CreateFAdd(Real(x, 1), x)));
}

llvm::Value* VectorMath::Asin(llvm::Value* x) {
  llvm::Value* magnitude = Wide(Abs(x));
  return NearestWithSignOf(x, Arc(magnitude, OtherLeg(magnitude)));
}

llvm::Value* VectorMath::Acos(llvm::Value* x) {
  llvm::Value* wide = Wide(x);
  llvm::Value* magnitude = Abs(wide);
  llvm::Value* angle = Arc(OtherLeg(magnitude), magnitude);
  llvm::Value* left = builder_.CreateFCmpOLT(wide, Real(wide, 0));
  angle = builder_.CreateSelect(left, builder_.CreateFSub(Real(angle, kPi), angle), angle);
  return builder_.CreateFPTrunc(angle, x->getType());
}

llvm::Value* VectorMath::ExpOfMagnitude(llvm::Value* magnitude) {
  llvm::Value* exponent = builder_.CreateFMul(magnitude, Real(magnitude, kLog2OfE));
  exponent =
      builder_.CreateSelect(builder_.CreateFCmpOLT(exponent, Real(exponent, 400)), exponent, Real(exponent, 400));
  return Exp2(exponent);
}

llvm::Value* VectorMath::Sinh(llvm::Value* x) {
  llvm::Value* magnitude = Wide(Abs(x));
  llvm::Value* e = ExpOfMagnitude(magnitude);
  llvm::Value* value = builder_.CreateFSub(e, builder_.CreateFDiv(Real(e, 1), e));
  value = builder_.CreateFMul(value, Real(value, 0.5));
  llvm::Value* series = builder_.CreateFMul(magnitude, Polynomial(builder_.CreateFMul(magnitude, magnitude), kSinh));
  llvm::Value* small = builder_.CreateFCmpOLT(magnitude, Real(magnitude, kSmallSinh));
  return NearestWithSignOf(x, builder_.CreateSelect(small, series, value));
}

llvm::Value* VectorMath::Cosh(llvm::Value* x) {
  llvm::Value* e = ExpOfMagnitude(Wide(Abs(x)));
  llvm::Value* value = builder_.CreateFAdd(e, builder_.CreateFDiv(Real(e, 1), e));
  value = builder_.CreateFPTrunc(builder_.CreateFMul(value, Real(value, 0.5)), x->getType());
  return builder_.CreateSelect(IsNan(x), x, value);
}

llvm::Value* VectorMath::Asinh(llvm::Value* x) {
  llvm::Value* magnitude = Wide(Abs(x));
  llvm::Value* square = builder_.CreateFMul(magnitude, magnitude);
  llvm::Value* sum = builder_.CreateFAdd(magnitude, Sqrt(builder_.CreateFAdd(square, Real(square, 1))));
  llvm::Value* value = builder_.CreateFMul(Log2(sum), Real(sum, kLn2));
  llvm::Value* series = builder_.CreateFMul(magnitude, Polynomial(square, kAsinh));
  llvm::Value* small = builder_.CreateFCmpOLT(magnitude, Real(magnitude, kSmallInverse));
  return NearestWithSignOf(x, builder_.CreateSelect(small, series, value));
}

llvm::Value* VectorMath::Acosh(llvm::Value* x) {
  llvm::Value* wide = Wide(x);
  llvm::Value* legs =
      builder_.CreateFMul(builder_.CreateFSub(wide, Real(wide, 1)), builder_.CreateFAdd(wide, Real(wide, 1)));
  llvm::Value* sum = builder_.CreateFAdd(wide, Sqrt(legs));
  llvm::Value* value = builder_.CreateFMul(Log2(sum), Real(sum, kLn2));
  llvm::Value* defined = builder_.CreateFCmpOGE(wide, Real(wide, 1));
  return builder_.CreateFPTrunc(builder_.CreateSelect(defined, value, Real(wide, kNan)), x->getType());
}

llvm::Value* VectorMath::Atanh(llvm::Value* x) {
  llvm::Value* magnitude = Wide(Abs(x));
  llvm::Value* one = Real(magnitude, 1);
  llvm::Value* quotient = builder_.CreateFDiv(builder_.CreateFAdd(one, magnitude), builder_.CreateFSub(one, magnitude));
  llvm::Value* value = builder_.CreateFMul(Log2(quotient), Real(quotient, kLn2 / 2));
  llvm::Value* series =
      builder_.CreateFMul(magnitude, Polynomial(builder_.CreateFMul(magnitude, magnitude), kAtanhSeries));
  llvm::Value* small = builder_.CreateFCmpOLT(magnitude, Real(magnitude, kSmallInverse));
  value = builder_.CreateSelect(small, series, value);
  llvm::Value* defined = builder_.CreateFCmpOLE(magnitude, one);
  return NearestWithSignOf(x, builder_.CreateSelect(defined, value, Real(value, kNan)));
}

llvm::Value* VectorMath::Cbrt(llvm::Value* x) {
  llvm::Value* magnitude = Wide(Abs(x));
  llvm::Value* third = builder_.CreateFMul(Log2(magnitude), Real(magnitude, 1.0 / 3));
  return NearestWithSignOf(x, Exp2(Clamp(third, -400, 400)));
}

// The whole part of the quotient may be one too large or too small where the quotient was rounded; its product and what
// is left are exact.
llvm::Value* VectorMath::Remainder(llvm::Value* x, llvm::Value* y) {
  llvm::Value* numerator = Wide(Abs(x));
  llvm::Value* denominator = Wide(Abs(y));
  llvm::Value* quotient = builder_.CreateFDiv(numerator, denominator);
  llvm::Value* near = builder_.CreateFCmpOLT(quotient, Real(quotient, kLargestQuotient));
  llvm::Value* whole = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, quotient);
  llvm::Value* rest = Fma(builder_.CreateFNeg(whole), denominator, numerator);
  llvm::Value* below = builder_.CreateFCmpOLT(rest, Real(rest, 0));
  rest = builder_.CreateSelect(below, builder_.CreateFAdd(rest, denominator), rest);
  llvm::Value* beyond = builder_.CreateFCmpOGE(rest, denominator);
  rest = builder_.CreateSelect(beyond, builder_.CreateFSub(rest, denominator), rest);
  // Any number over infinity is left whole.
  llvm::Value* endless = builder_.CreateFCmpOEQ(denominator, Real(denominator, kInfinity));
  rest = builder_.CreateSelect(endless, numerator, rest);
  llvm::Value* result = CopySign(builder_.CreateFPTrunc(rest, x->getType()), x);
  // Large quotients, and subnormal numbers, which may be flushed here.
  llvm::Value* slow = builder_.CreateNot(near);
  for (llvm::Value* argument : {x, y}) slow = builder_.CreateOr(slow, IsSubnormal(argument));
  return ByLaneWhere(slow, result, "fmodf", {x, y});
}

llvm::Value* VectorMath::IsSubnormal(llvm::Value* x) {
  llvm::Type* word = WithLanes(builder_.getInt32Ty(), LanesOf(x->getType()));
  llvm::Value* bits = builder_.CreateAnd(builder_.CreateBitCast(x, word), IntegerConstant(word, 0x7fffffff));
  bits = builder_.CreateSub(bits, IntegerConstant(word, 1));
  return builder_.CreateICmpULT(bits, IntegerConstant(word, 0x7fffff));
}

llvm::Value* VectorMath::ByLaneWhere(llvm::Value* slow, llvm::Value* result, const char* function,
                                     std::initializer_list<llvm::Value*> arguments) {
  llvm::Value* any = slow->getType()->isVectorTy() ? builder_.CreateOrReduce(slow) : slow;
  llvm::Function* parent = builder_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* calls = llvm::BasicBlock::Create(builder_.getContext(), "by_lane", parent);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(builder_.getContext(), "joined", parent);
  builder_.CreateCondBr(any, calls, after);
  builder_.SetInsertPoint(calls);
  llvm::Value* by_lane = builder_.CreateSelect(slow, CallByLane(function, arguments), result);
  llvm::BasicBlock* calls_end = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode* joined = builder_.CreatePHI(result->getType(), 2);
  joined->addIncoming(result, before);
  joined->addIncoming(by_lane, calls_end);
  return joined;
}

}  // namespace smelt::cpu::codegen
