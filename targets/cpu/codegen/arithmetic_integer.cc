#include <llvm/IR/Intrinsics.h>

#include "base/check.h"
#include "targets/cpu/codegen/arithmetic.h"

namespace smelt::cpu::codegen {

using kernels::te::BinaryOp;
using kernels::te::PrimitiveType;
using kernels::te::UnaryOp;

llvm::Value* Arithmetic::IntegerUnary(UnaryOp op, PrimitiveType type, llvm::Value* x) {
  llvm::Type* t = x->getType();
  switch (op) {
    case UnaryOp::kNegate:
      return builder_.CreateNeg(x);
    case UnaryOp::kNot:
      return builder_.CreateNot(x);
    case UnaryOp::kAbs:
      if (!hlo::IsSigned(type)) return x;
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, builder_.getFalse());
    case UnaryOp::kSign: {
      llvm::Value* one = IntegerConstant(t, 1);
      llvm::Value* zero = IntegerConstant(t, 0);
      llvm::Value* positive = builder_.CreateSelect(builder_.CreateICmpEQ(x, zero), zero, one);
      if (!hlo::IsSigned(type)) return positive;
      return builder_.CreateSelect(builder_.CreateICmpSLT(x, zero), IntegerConstant(t, -1), positive);
    }
    case UnaryOp::kPopcount:
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x);
    case UnaryOp::kClz:
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, builder_.getFalse());
    case UnaryOp::kIsFinite:
      return llvm::ConstantInt::getTrue(WithLanes(builder_.getInt1Ty(), LanesOf(t)));
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRoundEven:
    case UnaryOp::kRoundAfz:
      return x;
    default:
      Check(false, "unary operation has no meaning on integers");
      return nullptr;
  }
}

// Processors divide vectors of floating-point numbers only. Integers of fewer bits than the fraction has lose nothing:
// a quotient a / b that is no integer is 1 / b from the next one at least, a share of 1 / a of it, which rounding does
// not bridge.
llvm::Value* Arithmetic::Truncated(BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  const bool wants_quotient = op == BinaryOp::kDiv;
  llvm::Type* t = a->getType();
  const unsigned bits = t->getScalarSizeInBits();
  // A product with the inverse of a constant is faster.
  if (!t->isVectorTy() || bits < 8 || bits > 32 || llvm::isa<llvm::Constant>(b)) {
    if (is_signed) return wants_quotient ? builder_.CreateSDiv(a, b) : builder_.CreateSRem(a, b);
    return wants_quotient ? builder_.CreateUDiv(a, b) : builder_.CreateURem(a, b);
  }
  const llvm::IRBuilderBase::FastMathFlagGuard guard(builder_);
  builder_.clearFastMathFlags();
  llvm::Type* real = WithLanes(bits <= 16 ? builder_.getFloatTy() : builder_.getDoubleTy(), LanesOf(t));
  const auto convert = [&](llvm::Value* x) {
    return is_signed ? builder_.CreateSIToFP(x, real) : builder_.CreateUIToFP(x, real);
  };
  llvm::Value* divided = builder_.CreateFDiv(convert(a), convert(b));
  llvm::Value* quotient = is_signed ? builder_.CreateFPToSI(divided, t) : builder_.CreateFPToUI(divided, t);
  return wants_quotient ? quotient : builder_.CreateSub(a, builder_.CreateMul(quotient, b));
}

llvm::Value* Arithmetic::Divide(BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  // HLO: x / 0 = -1, x % 0 = x; the smallest integer over -1 is itself, remainder 0. The processor traps on both, so
  // the divisor is replaced where it must not be used.
  llvm::Type* t = a->getType();
  llvm::Value* by_zero = builder_.CreateICmpEQ(b, IntegerConstant(t, 0));
  llvm::Value* safe = builder_.CreateSelect(by_zero, IntegerConstant(t, 1), b);
  const bool quotient = op == BinaryOp::kDiv;
  if (!is_signed) {
    llvm::Value* result = Truncated(op, is_signed, a, safe);
    return builder_.CreateSelect(by_zero, quotient ? IntegerConstant(t, -1) : a, result);
  }
  llvm::Value* smallest = llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(t->getScalarSizeInBits()));
  llvm::Value* by_minus_one = builder_.CreateICmpEQ(b, IntegerConstant(t, -1));
  const auto* never = llvm::dyn_cast<llvm::Constant>(by_minus_one);
  if (never == nullptr || !never->isNullValue()) {
    llvm::Value* overflow = builder_.CreateAnd(builder_.CreateICmpEQ(a, smallest), by_minus_one);
    safe = builder_.CreateSelect(overflow, IntegerConstant(t, 1), safe);
  }
  llvm::Value* result = Truncated(op, is_signed, a, safe);
  // With the divisor 1, an overflow gives a and 0, as it should.
  return builder_.CreateSelect(by_zero, quotient ? IntegerConstant(t, -1) : a, result);
}

llvm::Value* Arithmetic::Shift(BinaryOp op, llvm::Value* a, llvm::Value* b) {
  llvm::Type* t = a->getType();
  llvm::Value* width = IntegerConstant(t, t->getScalarSizeInBits());
  llvm::Value* beyond = builder_.CreateICmpUGE(b, width);
  if (op == BinaryOp::kShiftRightArithmetic) {
    llvm::Value* amount = builder_.CreateSelect(beyond, IntegerConstant(t, t->getScalarSizeInBits() - 1), b);
    return builder_.CreateAShr(a, amount);
  }
  llvm::Value* amount = builder_.CreateSelect(beyond, IntegerConstant(t, 0), b);
  llvm::Value* shifted = op == BinaryOp::kShiftLeft ? builder_.CreateShl(a, amount) : builder_.CreateLShr(a, amount);
  return builder_.CreateSelect(beyond, IntegerConstant(t, 0), shifted);
}

llvm::Value* Arithmetic::IntegerPower(bool is_signed, llvm::Value* base, llvm::Value* exponent) {
  // Squaring, one step a bit of the exponent, as a loop: it is rare and would be long.
  llvm::Type* t = base->getType();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(builder_.getContext(), "power", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(builder_.getContext(), "powered", function);
  builder_.CreateBr(loop);
  builder_.SetInsertPoint(loop);
  llvm::PHINode* step = builder_.CreatePHI(builder_.getInt32Ty(), 2);
  llvm::PHINode* result = builder_.CreatePHI(t, 2);
  llvm::PHINode* square = builder_.CreatePHI(t, 2);
  llvm::PHINode* rest = builder_.CreatePHI(t, 2);
  llvm::Value* bit = builder_.CreateICmpNE(builder_.CreateAnd(rest, IntegerConstant(t, 1)), IntegerConstant(t, 0));
  llvm::Value* next_result = builder_.CreateSelect(bit, builder_.CreateMul(result, square), result);
  llvm::Value* next_square = builder_.CreateMul(square, square);
  llvm::Value* next_rest = builder_.CreateLShr(rest, IntegerConstant(t, 1));
  llvm::Value* next_step = builder_.CreateAdd(step, builder_.getInt32(1));
  builder_.CreateCondBr(builder_.CreateICmpULT(next_step, builder_.getInt32(t->getScalarSizeInBits())), loop, after);
  step->addIncoming(builder_.getInt32(0), before);
  step->addIncoming(next_step, loop);
  result->addIncoming(IntegerConstant(t, 1), before);
  result->addIncoming(next_result, loop);
  square->addIncoming(base, before);
  square->addIncoming(next_square, loop);
  rest->addIncoming(exponent, before);
  rest->addIncoming(next_rest, loop);
  builder_.SetInsertPoint(after);
  if (!is_signed) return next_result;
  // A negative exponent: 1 and -1 have an integer inverse, everything else gives 0.
  llvm::Value* one = IntegerConstant(t, 1);
  llvm::Value* negative = builder_.CreateICmpSLT(exponent, IntegerConstant(t, 0));
  llvm::Value* odd = builder_.CreateICmpNE(builder_.CreateAnd(exponent, one), IntegerConstant(t, 0));
  llvm::Value* of_minus_one = builder_.CreateSelect(odd, IntegerConstant(t, -1), one);
  llvm::Value* inverse = builder_.CreateSelect(builder_.CreateICmpEQ(base, one), one, IntegerConstant(t, 0));
  inverse = builder_.CreateSelect(builder_.CreateICmpEQ(base, IntegerConstant(t, -1)), of_minus_one, inverse);
  return builder_.CreateSelect(negative, inverse, next_result);
}

llvm::Value* Arithmetic::IntegerBinary(BinaryOp op, PrimitiveType type, llvm::Value* a, llvm::Value* b) {
  const bool is_signed = hlo::IsSigned(type);
  const bool is_pred = type == PrimitiveType::kPred;
  switch (op) {
    case BinaryOp::kAdd:
      return is_pred ? builder_.CreateOr(a, b) : builder_.CreateAdd(a, b);
    case BinaryOp::kSub:
      return is_pred ? builder_.CreateXor(a, b) : builder_.CreateSub(a, b);
    case BinaryOp::kMul:
      return is_pred ? builder_.CreateAnd(a, b) : builder_.CreateMul(a, b);
    case BinaryOp::kDiv:
    case BinaryOp::kRem:
      return Divide(op, is_signed, a, b);
    case BinaryOp::kMin:
      if (is_pred) return builder_.CreateAnd(a, b);
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case BinaryOp::kMax:
      if (is_pred) return builder_.CreateOr(a, b);
      return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case BinaryOp::kAnd:
      return builder_.CreateAnd(a, b);
    case BinaryOp::kOr:
      return builder_.CreateOr(a, b);
    case BinaryOp::kXor:
      return builder_.CreateXor(a, b);
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRightLogical:
    case BinaryOp::kShiftRightArithmetic:
      return Shift(op, a, b);
    case BinaryOp::kPower:
      return IntegerPower(is_signed, a, b);
    case BinaryOp::kFloorDiv:
      return FloorDivide(a, b, false);
    case BinaryOp::kFloorMod:
      return FloorModulo(a, b, false);
    default:
      Check(false, "binary operation has no meaning on integers");
      return nullptr;
  }
}

llvm::Value* Arithmetic::FloorDivide(llvm::Value* a, llvm::Value* b, bool non_negative) {
  if (non_negative) return builder_.CreateUDiv(a, b);
  llvm::Value* quotient = builder_.CreateSDiv(a, b);
  llvm::Value* remainder = builder_.CreateSRem(a, b);
  llvm::Value* below = builder_.CreateICmpSLT(remainder, IntegerConstant(a->getType(), 0));
  return builder_.CreateAdd(quotient, builder_.CreateSExt(below, a->getType()));
}

llvm::Value* Arithmetic::FloorModulo(llvm::Value* a, llvm::Value* b, bool non_negative) {
  if (non_negative) return builder_.CreateURem(a, b);
  llvm::Value* remainder = builder_.CreateSRem(a, b);
  llvm::Value* below = builder_.CreateICmpSLT(remainder, IntegerConstant(a->getType(), 0));
  return builder_.CreateAdd(remainder, builder_.CreateSelect(below, b, IntegerConstant(a->getType(), 0)));
}

}  // namespace smelt::cpu::codegen
