// Floats of at most 8 bits as LLVM IR, in the value domain of f32: registers hold a float that the format has, memory
// holds the bit pattern in a byte. Everything but the rounding of subnormal results works on bits, so that the mode in
// which subnormal f32 numbers count as zero does not matter. Same results as hlo/small_float.h.
//
// Internal to codegen/: includes LLVM.
#pragma once

#include "hlo/small_float.h"
#include "targets/cpu/codegen/element_types.h"

namespace smelt::cpu::codegen {

// Bytes (or a vector of them) to float.
llvm::Value* DecodeSmallFloat(Builder& builder, const hlo::FloatFormat& format, llvm::Value* bytes);
// Float to the nearest float that the format has, ties to even; overflow and NaN as the format has them.
llvm::Value* RoundToSmallFloat(Builder& builder, const hlo::FloatFormat& format, llvm::Value* value);
// A float that the format has to its byte.
llvm::Value* EncodeSmallFloat(Builder& builder, const hlo::FloatFormat& format, llvm::Value* value);

}  // namespace smelt::cpu::codegen
