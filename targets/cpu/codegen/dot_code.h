// Code of the intrinsics of kernels/te/dot_intrinsics.h: VNNI and BF16 of x86-64, and what AVX2 and AVX-512 have in
// their place, DotProd of AArch64, and the shuffles that pack their operands. All take pointers, as IntrinsicCode::emit
// has them.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include <llvm/IR/Value.h>

#include "absl/types/span.h"
#include "kernels/te/expr.h"
#include "targets/cpu/codegen/element_types.h"

namespace smelt::cpu::codegen {

using CallOperands = absl::Span<llvm::Value* const>;

llvm::Value* EmitVpdpbusd(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);
llvm::Value* EmitVpdpbusdShifted(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);
llvm::Value* EmitVpdpbusdSwapped(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);
llvm::Value* EmitVpdpbusdOnes(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);
llvm::Value* EmitVpmaddwd(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);
llvm::Value* EmitVdpbf16ps(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);
llvm::Value* EmitSdot(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);
llvm::Value* EmitInterleave(Builder& builder, const kernels::te::ExprNode& call, CallOperands operands);

}  // namespace smelt::cpu::codegen
