#include <llvm/IR/Intrinsics.h>

#include "targets/cpu/codegen/arithmetic.h"

namespace smelt::cpu::codegen {

using kernels::te::PrimitiveType;

llvm::Value* Arithmetic::NarrowToOdd(llvm::Value* x) {
  // Truncates towards zero and sets the last bit where something was lost: any later rounding to fewer bits then sees
  // on which side of a tie the value lies.
  const int lanes = LanesOf(x->getType());
  llvm::Type* word = WithLanes(builder_.getInt32Ty(), lanes);
  llvm::Value* narrow = builder_.CreateFPTrunc(x, WithLanes(builder_.getFloatTy(), lanes));
  llvm::Value* back = builder_.CreateFPExt(narrow, x->getType());
  llvm::Value* lost = builder_.CreateFCmpONE(back, x);
  auto magnitude = [&](llvm::Value* v) { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  llvm::Value* above = builder_.CreateFCmpOGT(magnitude(back), magnitude(x));
  llvm::Value* bits = builder_.CreateBitCast(narrow, word);
  bits = builder_.CreateSelect(above, builder_.CreateSub(bits, IntegerConstant(word, 1)), bits);
  bits = builder_.CreateSelect(lost, builder_.CreateOr(bits, IntegerConstant(word, 1)), bits);
  return builder_.CreateBitCast(bits, narrow->getType());
}

llvm::Value* Arithmetic::Saturate(PrimitiveType to, llvm::Value* x) {
  const int lanes = LanesOf(x->getType());
  llvm::Type* target = RegisterType(builder_.getContext(), {to, lanes});
  const bool is_signed = hlo::IsSigned(to);
  if (lanes == 1) {
    return builder_.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                    {target, x->getType()}, {x});
  }
  // LLVM takes these intrinsics apart into lanes on x86-64.
  const unsigned bits = target->getScalarSizeInBits();
  const llvm::APInt most = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  const llvm::APInt least = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getZero(bits);
  const llvm::fltSemantics& semantics = x->getType()->getScalarType()->getFltSemantics();
  const auto limit = [&](const llvm::APInt& value) {
    llvm::APFloat real(semantics);
    real.convertFromAPInt(value, is_signed, llvm::APFloat::rmTowardZero);
    return llvm::ConstantFP::get(x->getType(), real);
  };
  llvm::Constant *low = limit(least), *high = limit(most);
  llvm::Value* inside = builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), RealConstant(x->getType(), 0), x);
  inside = builder_.CreateSelect(builder_.CreateFCmpOLT(inside, low), low, inside);
  llvm::Value* above = builder_.CreateFCmpOGT(inside, high);
  inside = builder_.CreateSelect(above, high, inside);
  // Short numbers are parts of those of 32 bits, which there are instructions for.
  if (bits < 32) {
    llvm::Type* word = WithLanes(builder_.getInt32Ty(), lanes);
    return builder_.CreateTrunc(builder_.CreateFPToSI(inside, word), target);
  }
  llvm::Value* whole = is_signed ? builder_.CreateFPToSI(inside, target) : builder_.CreateFPToUI(inside, target);
  // The largest integer may lie above the largest float that is one.
  return builder_.CreateSelect(above, llvm::ConstantInt::get(target, most), whole);
}

llvm::Value* Arithmetic::Cast(PrimitiveType to, PrimitiveType from, llvm::Value* x) {
  if (to == from) return x;
  llvm::LLVMContext& context = builder_.getContext();
  const int lanes = LanesOf(x->getType());
  llvm::Type* target = RegisterType(context, {to, lanes});
  if (to == PrimitiveType::kPred) {
    llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
    return hlo::IsFloat(from) ? builder_.CreateFCmpUNE(x, zero) : builder_.CreateICmpNE(x, zero);
  }
  if (hlo::IsFloat(from)) {
    if (hlo::IsFloat(to)) {
      if (from == PrimitiveType::kF64) {
        // Those of 16 bits are rounded to f32 first on every processor, as XLA does on most: where there is AVX512-FP16
        // it rounds to f16 once. Shorter ones are rounded once.
        if (hlo::BitWidth(to) < 16) return RoundToElement(builder_, to, NarrowToOdd(x));
        return RoundToElement(builder_, to, builder_.CreateFPTrunc(x, target));
      }
      if (to == PrimitiveType::kF64) return builder_.CreateFPExt(x, target);
      return RoundToElement(builder_, to, x);
    }
    return Saturate(to, x);
  }
  const bool is_signed = hlo::IsSigned(from);
  if (hlo::IsFloat(to)) {
    auto convert = [&](llvm::Type* type) {
      return is_signed ? builder_.CreateSIToFP(x, type) : builder_.CreateUIToFP(x, type);
    };
    // To f32 first where the type is shorter, which rounds twice, as XLA does.
    return RoundToElement(builder_, to, convert(target));
  }
  return is_signed ? builder_.CreateSExtOrTrunc(x, target) : builder_.CreateZExtOrTrunc(x, target);
}

llvm::Value* Arithmetic::BitCast(PrimitiveType to, PrimitiveType from, llvm::Value* x) {
  llvm::Value* bits = ToMemory(builder_, from, x);
  bits = builder_.CreateBitCast(bits, MemoryType(builder_.getContext(), {to, LanesOf(x->getType())}));
  return FromMemory(builder_, to, bits);
}

}  // namespace smelt::cpu::codegen
