#include "targets/cpu/codegen/element_types.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "kernels/te/scalar.h"
#include "targets/cpu/codegen/small_float_code.h"

namespace smelt::cpu::codegen {

using kernels::te::PrimitiveType;

namespace {

bool IsSmallFloat(PrimitiveType type) { return hlo::IsFloat(type) && hlo::BitWidth(type) <= 8; }
// One a byte in memory, as wide as they are in registers, so that arithmetic wraps.
bool IsSmallInteger(PrimitiveType type) { return hlo::IsInteger(type) && hlo::BitWidth(type) < 8; }

}  // namespace

absl::Status CheckElementType(PrimitiveType type) {
  if (type == PrimitiveType::kPred || hlo::IsInteger(type) || hlo::IsFloat(type)) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("element type ", std::string(hlo::PrimitiveTypeName(type)), " has no code generation"));
}

llvm::Type* WithLanes(llvm::Type* element, int lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

int LanesOf(llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

llvm::Type* RegisterType(llvm::LLVMContext& context, kernels::te::DataType type) {
  llvm::Type* element = nullptr;
  switch (type.element) {
    case PrimitiveType::kF16:
    case PrimitiveType::kBF16:
    case PrimitiveType::kF32:
      element = llvm::Type::getFloatTy(context);
      break;
    case PrimitiveType::kF64:
      element = llvm::Type::getDoubleTy(context);
      break;
    case PrimitiveType::kPred:
      element = llvm::Type::getInt1Ty(context);
      break;
    default:
      element = IsSmallFloat(type.element) ? llvm::Type::getFloatTy(context)
                                           : llvm::Type::getIntNTy(context, hlo::BitWidth(type.element));
  }
  return WithLanes(element, type.lanes);
}

llvm::Type* MemoryType(llvm::LLVMContext& context, kernels::te::DataType type) {
  if (hlo::BitWidth(type.element) <= 8) return WithLanes(llvm::Type::getInt8Ty(context), type.lanes);
  switch (type.element) {
    case PrimitiveType::kF16:
    case PrimitiveType::kBF16:
      return WithLanes(llvm::Type::getInt16Ty(context), type.lanes);
    default:
      return RegisterType(context, type);
  }
}

llvm::Value* RealConstant(llvm::Type* type, double value) { return llvm::ConstantFP::get(type, value); }

llvm::Value* IntegerConstant(llvm::Type* type, int64_t value) {
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(value), /*isSigned=*/true);
}

llvm::Value* FromMemory(Builder& builder, PrimitiveType type, llvm::Value* value) {
  llvm::LLVMContext& context = builder.getContext();
  const int lanes = LanesOf(value->getType());
  if (IsSmallFloat(type)) return DecodeSmallFloat(builder, hlo::GetFloatFormat(type), value);
  if (IsSmallInteger(type)) return builder.CreateTrunc(value, RegisterType(context, {type, lanes}));
  switch (type) {
    case PrimitiveType::kPred:
      return builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
    case PrimitiveType::kF16: {
      llvm::Value* half = builder.CreateBitCast(value, WithLanes(llvm::Type::getHalfTy(context), lanes));
      return builder.CreateFPExt(half, WithLanes(llvm::Type::getFloatTy(context), lanes));
    }
    case PrimitiveType::kBF16: {
      llvm::Value* wide = builder.CreateZExt(value, WithLanes(llvm::Type::getInt32Ty(context), lanes));
      wide = builder.CreateShl(wide, IntegerConstant(wide->getType(), 16));
      return builder.CreateBitCast(wide, WithLanes(llvm::Type::getFloatTy(context), lanes));
    }
    default:
      return value;
  }
}

llvm::Value* ToMemory(Builder& builder, PrimitiveType type, llvm::Value* value) {
  llvm::LLVMContext& context = builder.getContext();
  const int lanes = LanesOf(value->getType());
  if (IsSmallFloat(type)) return EncodeSmallFloat(builder, hlo::GetFloatFormat(type), value);
  if (IsSmallInteger(type)) {
    llvm::Type* byte = WithLanes(llvm::Type::getInt8Ty(context), lanes);
    return hlo::IsSigned(type) ? builder.CreateSExt(value, byte) : builder.CreateZExt(value, byte);
  }
  switch (type) {
    case PrimitiveType::kPred:
      return builder.CreateZExt(value, WithLanes(llvm::Type::getInt8Ty(context), lanes));
    case PrimitiveType::kF16: {
      llvm::Value* half = builder.CreateFPTrunc(value, WithLanes(llvm::Type::getHalfTy(context), lanes));
      return builder.CreateBitCast(half, WithLanes(llvm::Type::getInt16Ty(context), lanes));
    }
    case PrimitiveType::kBF16: {
      llvm::Value* bits = builder.CreateBitCast(value, WithLanes(llvm::Type::getInt32Ty(context), lanes));
      bits = builder.CreateLShr(bits, IntegerConstant(bits->getType(), 16));
      return builder.CreateTrunc(bits, WithLanes(llvm::Type::getInt16Ty(context), lanes));
    }
    default:
      return value;
  }
}

llvm::Value* RoundArithmetic(Builder& builder, PrimitiveType type, llvm::Value* value) {
  if (kernels::te::ComputesInF16(type)) value = RoundToElement(builder, PrimitiveType::kF16, value);
  return RoundToElement(builder, type, value);
}

llvm::Value* RoundToElement(Builder& builder, PrimitiveType type, llvm::Value* value) {
  llvm::LLVMContext& context = builder.getContext();
  const int lanes = LanesOf(value->getType());
  if (IsSmallFloat(type)) return RoundToSmallFloat(builder, hlo::GetFloatFormat(type), value);
  if (type == PrimitiveType::kF16) {
    llvm::Value* half = builder.CreateFPTrunc(value, WithLanes(llvm::Type::getHalfTy(context), lanes));
    return builder.CreateFPExt(half, value->getType());
  }
  if (type == PrimitiveType::kBF16) {
    // On bits: the instruction that LLVM would choose for fptrunc to bfloat treats subnormal numbers as zero.
    llvm::Type* word = WithLanes(llvm::Type::getInt32Ty(context), lanes);
    llvm::Value* bits = builder.CreateBitCast(value, word);
    llvm::Value* odd = builder.CreateAnd(builder.CreateLShr(bits, IntegerConstant(word, 16)), IntegerConstant(word, 1));
    llvm::Value* rounded = builder.CreateAdd(bits, builder.CreateAdd(odd, IntegerConstant(word, 0x7fff)));
    llvm::Value* quiet = builder.CreateOr(bits, IntegerConstant(word, 0x400000));
    rounded = builder.CreateSelect(builder.CreateFCmpUNO(value, value), quiet, rounded);
    rounded = builder.CreateAnd(rounded, IntegerConstant(word, static_cast<int32_t>(0xffff0000)));
    return builder.CreateBitCast(rounded, value->getType());
  }
  return value;
}

}  // namespace smelt::cpu::codegen
