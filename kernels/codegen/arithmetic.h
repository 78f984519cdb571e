// HLO's arithmetic on registers: one call an expression node, with the semantics that te/expr.h gives.
//
// Values are in register form (element_types.h); scalars and vectors alike. Results of f16 and bf16 operations are
// rounded to their type.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include "kernels/codegen/element_types.h"
#include "kernels/codegen/vector_math.h"

namespace smelt::kernels::codegen {

class Arithmetic {
 public:
  explicit Arithmetic(Builder& builder) : builder_(builder), math_(builder) {}

  llvm::Value* Unary(te::UnaryOp op, te::PrimitiveType type, llvm::Value* x);
  llvm::Value* Binary(te::BinaryOp op, te::PrimitiveType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* Compare(te::CompareOp op, te::PrimitiveType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* Cast(te::PrimitiveType to, te::PrimitiveType from, llvm::Value* x);
  llvm::Value* BitCast(te::PrimitiveType to, te::PrimitiveType from, llvm::Value* x);

  // Division rounding down, for indices: `a` and `b` are signed and b > 0; `non_negative` says that a >= 0.
  llvm::Value* FloorDivide(llvm::Value* a, llvm::Value* b, bool non_negative);
  llvm::Value* FloorModulo(llvm::Value* a, llvm::Value* b, bool non_negative);

 private:
  llvm::Value* IntegerUnary(te::UnaryOp op, te::PrimitiveType type, llvm::Value* x);
  llvm::Value* FloatUnary(te::UnaryOp op, llvm::Value* x);  // unrounded
  llvm::Value* IntegerBinary(te::BinaryOp op, te::PrimitiveType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* FloatBinary(te::BinaryOp op, llvm::Value* a, llvm::Value* b);  // unrounded
  llvm::Value* MinMax(bool maximum, llvm::Value* a, llvm::Value* b);
  llvm::Value* Divide(te::BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b);
  llvm::Value* Shift(te::BinaryOp op, llvm::Value* a, llvm::Value* b);
  llvm::Value* IntegerPower(bool is_signed, llvm::Value* base, llvm::Value* exponent);
  // f64 to float so that a second rounding to fewer bits gives what one rounding would (round to odd).
  llvm::Value* NarrowToOdd(llvm::Value* x);
  // libm's function on f64, the given name with an `f` on float.
  llvm::Value* Libm(const char* function, std::initializer_list<llvm::Value*> arguments);

  Builder& builder_;
  VectorMath math_;
};

}  // namespace smelt::kernels::codegen
