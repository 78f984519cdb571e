#include <limits>

#include "targets/cpu/codegen/math_basic.h"

namespace smelt::cpu::codegen {
namespace {

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 as polynomials in r^2, |r| <= pi/4.
constexpr std::array<double, 4> kSinTail = {-0x1.555556p-3, 0x1.111108p-7, -0x1.a00f74p-13, 0x1.6ccf5ep-19};
constexpr std::array<double, 4> kCosTail = {0x1.555556p-5, -0x1.6c16b8p-10, 0x1.a010d6p-16, -0x1.241caap-22};
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
// Up to here two doubles of pi/2 reduce exactly enough; beyond, libm does it.
constexpr double kLargest = 0x1p28;

}  // namespace

llvm::Value* VectorMath::SinOrCosSmall(llvm::Value* x, bool cosine) {
  const int lanes = LanesOf(x->getType());
  llvm::Type* wide_type = WithLanes(builder_.getDoubleTy(), lanes);
  llvm::Type* word = WithLanes(builder_.getInt32Ty(), lanes);
  llvm::Value* wide = builder_.CreateFPExt(x, wide_type);
  llvm::Value* n = Round(builder_.CreateFMul(wide, RealConstant(wide_type, kTwoOverPi)));
  llvm::Value* r = Fma(n, RealConstant(wide_type, -kHalfPiHigh), wide);
  r = Fma(n, RealConstant(wide_type, -kHalfPiLow), r);
  llvm::Value* quadrant = builder_.CreateFPToSI(n, word);
  if (cosine) quadrant = builder_.CreateAdd(quadrant, IntegerConstant(word, 1));
  r = builder_.CreateFPTrunc(r, x->getType());

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

llvm::Value* VectorMath::SinOrCos(llvm::Value* x, bool cosine) {
  llvm::Value* magnitude = Abs(x);
  llvm::Value* small = builder_.CreateFCmpOLT(magnitude, Real(x, kLargest));
  llvm::Value* finite = builder_.CreateFCmpOLT(magnitude, Real(x, std::numeric_limits<double>::infinity()));
  llvm::Value* result = SinOrCosSmall(builder_.CreateSelect(small, x, Real(x, 0)), cosine);
  if (!cosine) result = builder_.CreateSelect(builder_.CreateFCmpOEQ(x, Real(x, 0)), x, result);

  // Rare: some lane is finite and large.
  llvm::Value* large = builder_.CreateAnd(finite, builder_.CreateNot(small));
  llvm::Value* any = x->getType()->isVectorTy() ? builder_.CreateOrReduce(large) : large;
  llvm::Function* function = builder_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* slow = llvm::BasicBlock::Create(builder_.getContext(), "large", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(builder_.getContext(), "reduced", function);
  builder_.CreateCondBr(any, slow, after);
  builder_.SetInsertPoint(slow);
  llvm::Value* by_lane = builder_.CreateSelect(large, CallByLane(cosine ? "cosf" : "sinf", {x}), result);
  llvm::BasicBlock* slow_end = builder_.GetInsertBlock();
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode* joined = builder_.CreatePHI(x->getType(), 2);
  joined->addIncoming(result, before);
  joined->addIncoming(by_lane, slow_end);
  // Infinity minus itself is NaN, and a NaN stays.
  return builder_.CreateSelect(finite, joined, builder_.CreateFSub(x, x));
}

llvm::Value* VectorMath::Sin(llvm::Value* x) { return SinOrCos(x, false); }
llvm::Value* VectorMath::Cos(llvm::Value* x) { return SinOrCos(x, true); }

}  // namespace smelt::cpu::codegen
