// Loops that apply one elementwise opcode to arrays: what the evaluator's elementwise handlers and scalar programs
// (reduce bodies, comparators) are made of.
//
//   ElementwiseKernel add = FindElementwiseKernel(instruction).value();
//   const void* operands[] = {a, b};
//   add.Run(operands, result, count);
//
// There is one loop per opcode and computing type. Types without arithmetic of their own (bf16, f16, 8-bit floats: f32;
// sub-byte integers: 8 bits) are widened and narrowed block by block around it, so each instruction rounds once. The
// result may lie where an operand of the same storage size lies.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/opcode.h"
#include "hlo/primitive_type.h"

namespace smelt::hlo {

struct ElementwiseKernel {
  using Function = void (*)(const void* const* operands, void* result, int64_t count, const ElementwiseKernel& kernel);

  Function function = nullptr;
  int arity = 0;
  std::array<PrimitiveType, 3> operand_types{};
  PrimitiveType result_type{};
  bool direct = true;        // no operand or result needs widening
  bool through_f16 = false;  // the result is rounded to f16 first: XLA computes 8-bit and narrower floats in f16, but
                             // converts straight
  // reduce-precision only.
  int exponent_bits = 0;
  int mantissa_bits = 0;

  void Run(const void* const* operands, void* result, int64_t count) const;
};

// The type in which elements of `type` are computed.
PrimitiveType ComputeType(PrimitiveType type);

// Floats whose results pass through f16, see ElementwiseKernel::through_f16.
bool ComputesInF16(PrimitiveType type);

absl::StatusOr<ElementwiseKernel> FindElementwiseKernel(Opcode opcode, absl::Span<const PrimitiveType> operand_types,
                                                        PrimitiveType result_type, const Attributes& attributes = {});
// Takes everything from the instruction, whose opcode is elementwise.
absl::StatusOr<ElementwiseKernel> FindElementwiseKernel(const Instruction& instruction);

}  // namespace smelt::hlo
