// What XLA's instruction fusion for CPUs says of one instruction, or of one instruction and an operand of its, whatever
// is fused already. The order in which these questions are asked, and those about whole fusions, are in
// xla_cpu_pass.cc.
#pragma once

#include <cstdint>

#include "hlo/instruction.h"

namespace smelt::fusion::xla_cpu {

// How the consumer's elements use those of an operand.
enum class Use : uint8_t {
  kNone,
  kOnce,     // each at its own position
  kPermute,  // each once, elsewhere
  kReuse,    // some more than once
};
Use OperandUse(const hlo::Instruction& consumer, int64_t operand);
// Says how an operand is used that the consumer takes at several positions; kNone where it does not take it.
Use OperandUse(const hlo::Instruction& consumer, const hlo::Instruction& operand);

// XLA's notion: constants and iota count, map as well.
bool IsElementwise(const hlo::Instruction& instruction);
// The opcodes that XLA computes element by element inside a loop.
bool IsLoopFusible(const hlo::Instruction& instruction);
// May be inside a fusion at all: no parameter, no side effect.
bool MayBeFused(const hlo::Instruction& instruction);
// Not computed twice.
bool IsExpensive(const hlo::Instruction& instruction);
// Computed twice however expensive: what makes its consumers read less.
bool IsAlwaysDuplicable(const hlo::Instruction& instruction);
// At most one operand of the result's rank: computing it twice does not multiply the bytes that are read.
bool IsEffectivelyUnary(const hlo::Instruction& instruction);
// Counts elements, each operand once.
bool ReadsMoreThanItWrites(const hlo::Instruction& instruction);

// Every dimension is one.
bool IsEffectiveScalar(const hlo::Shape& shape);
// An element of one has the same multi-dimensional index and place as in the other.
bool SameIndexSpace(const hlo::Shape& a, const hlo::Shape& b);

// Concatenations that run faster as plain copies of memory: of many operands, or of long rows along the minor
// dimension.
bool IsCopyingConcatenate(const hlo::Instruction& instruction);
// A dot of a vector with a matrix or a vector: its code may be in a loop with what follows it.
bool IsVectorDot(const hlo::Instruction& instruction);
// The operand is the matrix of a product with a vector that stays in the cache.
bool IsMatrixOfShortVectorDot(const hlo::Instruction& dot, int64_t operand);
// The code for one element starts blocks of its own, after which values computed before are computed again.
bool StartsBlocks(const hlo::Instruction& instruction);
// A product x where the program has exp(x - max(x)): computed twice, once joined with the subtraction without rounding
// in between, the difference could become positive.
bool IsSoftmaxInput(const hlo::Instruction& instruction);

}  // namespace smelt::fusion::xla_cpu
