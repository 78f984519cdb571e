#include "targets/cpu/codegen/math_basic.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

namespace smelt::cpu::codegen {

llvm::Value* VectorMath::Fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

llvm::Value* VectorMath::Round(llvm::Value* x) { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x); }

llvm::Value* VectorMath::Abs(llvm::Value* x) { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

llvm::Value* VectorMath::CopySign(llvm::Value* magnitude, llvm::Value* sign) {
  return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

llvm::Value* VectorMath::Clamp(llvm::Value* x, double low, double high) {
  // Unordered comparisons are false for the constants' side, so a NaN stays.
  x = builder_.CreateSelect(builder_.CreateFCmpOLT(x, Real(x, low)), Real(x, low), x);
  return builder_.CreateSelect(builder_.CreateFCmpOGT(x, Real(x, high)), Real(x, high), x);
}

llvm::Value* VectorMath::CallByLane(const char* function, std::initializer_list<llvm::Value*> arguments) {
  llvm::Type* type = (*arguments.begin())->getType();
  llvm::Type* element = type->getScalarType();
  llvm::Module* module = builder_.GetInsertBlock()->getModule();
  std::vector<llvm::Type*> parameters(arguments.size(), element);
  llvm::FunctionCallee callee =
      module->getOrInsertFunction(function, llvm::FunctionType::get(element, parameters, /*isVarArg=*/false));
  if (auto* declaration = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    declaration->setDoesNotThrow();
    declaration->setDoesNotAccessMemory();
    declaration->setWillReturn();
  }
  if (!type->isVectorTy()) return builder_.CreateCall(callee, llvm::ArrayRef<llvm::Value*>(arguments));
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (int lane = 0; lane < LanesOf(type); ++lane) {
    std::vector<llvm::Value*> scalars;
    for (llvm::Value* argument : arguments) scalars.push_back(builder_.CreateExtractElement(argument, lane));
    result = builder_.CreateInsertElement(result, builder_.CreateCall(callee, scalars), lane);
  }
  return result;
}

}  // namespace smelt::cpu::codegen
