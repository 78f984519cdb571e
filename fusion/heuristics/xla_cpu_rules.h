// What XLA's instruction fusion for CPUs says of one instruction, or of one instruction and an operand of its, whatever
// is fused already. The order in which these questions are asked, and those about whole fusions, are in
// xla_cpu_pass.cc.
#pragma once

#include <cstdint>

#include "hlo/instruction.h"

namespace smelt::fusion::xla_cpu {

// How the consumer's elements use the elements of an operand.
enum class Use : uint8_t {
  kNone,
  kOnce,     // each at its own position
  kPermute,  // each once, elsewhere
  kReuse,    // some more than once
};
Use OperandUse(const hlo::Instruction& consumer, int64_t operand);
// Says how an operand is used that the consumer takes at several positions; kNone where it does not take it.
Use OperandUse(const hlo::Instruction& consumer, const hlo::Instruction& operand);

// Whether XLA calls the instruction elementwise: constants, iota and map count too.
bool IsElementwise(const hlo::Instruction& instruction);
// Whether XLA computes the opcode element by element inside a loop.
bool IsLoopFusible(const hlo::Instruction& instruction);
// Whether the instruction may be inside a fusion at all: it is no parameter and has no side effect.
bool MayBeFused(const hlo::Instruction& instruction);
// Whether XLA refuses to compute the instruction twice.
bool IsExpensive(const hlo::Instruction& instruction);
// Whether XLA computes the instruction twice however expensive it is, because its consumers then read less.
bool IsAlwaysDuplicable(const hlo::Instruction& instruction);
// Whether at most one operand has the result's rank, so that computing the instruction twice does not multiply the
// bytes that are read.
bool IsEffectivelyUnary(const hlo::Instruction& instruction);
// Whether the operands, each counted once, have more elements than the result.
bool ReadsMoreThanItWrites(const hlo::Instruction& instruction);

// Whether every dimension is one.
bool IsEffectiveScalar(const hlo::Shape& shape);
// Whether an element has the same multi-dimensional index and place in both.
bool SameIndexSpace(const hlo::Shape& a, const hlo::Shape& b);

// Whether a concatenation runs faster as plain copies of memory: it has many operands, or long rows along the minor
// dimension.
bool IsCopyingConcatenate(const hlo::Instruction& instruction);
// Whether the instruction is a dot of a vector with a matrix or a vector, whose code may be in a loop with what
// follows.
bool IsVectorDot(const hlo::Instruction& instruction);
// Whether the operand is the matrix of a product with a vector that stays in the cache.
bool IsMatrixOfShortVectorDot(const hlo::Instruction& dot, int64_t operand);
// Whether the code for one element starts blocks of its own, after which values computed before are computed again.
bool StartsBlocks(const hlo::Instruction& instruction);
// Whether the instruction is a product x of which the program takes exp(x - max(x)). Were it computed twice, once
// joined with the subtraction without rounding in between, the difference could become positive.
bool IsSoftmaxInput(const hlo::Instruction& instruction);

}  // namespace smelt::fusion::xla_cpu
