// HLO's arithmetic on registers: one call an expression node, with the semantics that te/expr.h gives.
//
// Values are in register form (element_types.h); scalars and vectors alike. Results of f16 and bf16 operations are
// rounded to their type.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include "targets/cpu/codegen/element_types.h"
#include "targets/cpu/codegen/vector_math.h"

namespace smelt::cpu::codegen {

class Arithmetic {
 public:
  explicit Arithmetic(Builder& builder) : builder_(builder), math_(builder) {}

  llvm::Value* Unary(kernels::te::UnaryOp op, kernels::te::PrimitiveType type, llvm::Value* x);
  llvm::Value* Binary(kernels::te::BinaryOp op, kernels::te::PrimitiveType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* Compare(kernels::te::CompareOp op, kernels::te::PrimitiveType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* Cast(kernels::te::PrimitiveType to, kernels::te::PrimitiveType from, llvm::Value* x);
  llvm::Value* BitCast(kernels::te::PrimitiveType to, kernels::te::PrimitiveType from, llvm::Value* x);

  // Division rounding down, for indices: `a` and `b` are signed and b > 0; `non_negative` says that a >= 0.
  llvm::Value* FloorDivide(llvm::Value* a, llvm::Value* b, bool non_negative);
  llvm::Value* FloorModulo(llvm::Value* a, llvm::Value* b, bool non_negative);

 private:
  llvm::Value* IntegerUnary(kernels::te::UnaryOp op, kernels::te::PrimitiveType type, llvm::Value* x);
  llvm::Value* FloatUnary(kernels::te::UnaryOp op, llvm::Value* x);  // unrounded
  llvm::Value* IntegerBinary(kernels::te::BinaryOp op, kernels::te::PrimitiveType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* FloatBinary(kernels::te::BinaryOp op, llvm::Value* a, llvm::Value* b);  // unrounded
  llvm::Value* MinMax(bool maximum, llvm::Value* a, llvm::Value* b);
  // Rounded to 0, or what is left then. `b` must not be 0, nor -1 where `a` is the smallest integer.
  llvm::Value* Truncated(kernels::te::BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* Divide(kernels::te::BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* Shift(kernels::te::BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* IntegerPower(bool is_signed, llvm::Value* base, llvm::Value* exponent);
  // f64 to float so that a second rounding to fewer bits gives what one rounding would (round to odd).
  llvm::Value* NarrowToOdd(llvm::Value* x);
  // A float as an integer: towards zero, the nearest one where it is out of range, 0 for NaN.
  llvm::Value* Saturate(kernels::te::PrimitiveType to, llvm::Value* x);
  // libm's function on f64, the given name with an `f` on float.
  llvm::Value* Libm(const char* function, std::initializer_list<llvm::Value*> arguments);

  Builder& builder_;
  VectorMath math_;
};

}  // namespace smelt::cpu::codegen
