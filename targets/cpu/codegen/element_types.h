// How element types lie in memory and in registers, and the rounding between the two.
//
// Registers: pred is i1; f16 and bf16 are float values that the narrow format represents exactly, because HLO computes
// them in f32 and rounds after every operation; the rest are themselves. Memory: pred is a byte, f16 and bf16 their
// 16-bit patterns.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "absl/status/status.h"
#include "kernels/te/expr.h"

namespace smelt::cpu::codegen {

using Builder = llvm::IRBuilder<>;

// Unimplemented, naming the type, for types that code generation does not know (complex numbers).
absl::Status CheckElementType(kernels::te::PrimitiveType type);

llvm::Type* RegisterType(llvm::LLVMContext& context, kernels::te::DataType type);
llvm::Type* MemoryType(llvm::LLVMContext& context, kernels::te::DataType type);
// `element` or a vector of it.
llvm::Type* WithLanes(llvm::Type* element, int lanes);
int LanesOf(llvm::Type* type);

// The constant of a register type, in all lanes.
llvm::Value* RealConstant(llvm::Type* type, double value);
llvm::Value* IntegerConstant(llvm::Type* type, int64_t value);

// `value` in registers of `type`, from and to its pattern in memory.
llvm::Value* FromMemory(Builder& builder, kernels::te::PrimitiveType type, llvm::Value* value);
llvm::Value* ToMemory(Builder& builder, kernels::te::PrimitiveType type, llvm::Value* value);

// Rounds float lanes to the values of f16 or bf16; the identity for other types. NaNs stay NaNs.
llvm::Value* RoundToElement(Builder& builder, kernels::te::PrimitiveType type, llvm::Value* value);
// The result of arithmetic on elements of the type, which passes through f16 where te::ComputesInF16.
llvm::Value* RoundArithmetic(Builder& builder, kernels::te::PrimitiveType type, llvm::Value* value);

}  // namespace smelt::cpu::codegen
