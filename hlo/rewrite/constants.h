// What passes ask about constants: is this value known, is it the same everywhere, is it zero.
//
//   if (IsAll(*multiply.operand(1), 1)) return multiply.operand(0);
//
// "Uniform" looks through broadcast, reshape, bitcast, copy, transpose and slice of a uniform constant, so that f32[8]
// broadcast(f32[] constant(1)) is all 1, a few steps deep. An elided constant (`{...}` in the text) is never known: its
// values are not in the program.
#pragma once

#include <cstdint>
#include <optional>

#include "hlo/instruction.h"
#include "hlo/literal.h"

namespace smelt::hlo {

// The literal of a constant whose values the text gave; nullptr for anything else.
const Literal* KnownLiteral(const Instruction& instruction);

// A literal whose element 0 is the value that every element of the instruction has; nullptr if not known or not
// uniform.
const Literal* UniformLiteral(const Instruction& instruction);
// The value that every element of the instruction has, as a scalar; absent as above.
std::optional<Literal> UniformValue(const Instruction& instruction);

// Every element is known to equal the value (a real number; a complex element then has no imaginary part). Zeros of
// either sign equal 0.
bool IsAll(const Instruction& instruction, double value);
// Every element is +0.0 (or the zero of a type without signed zeros) or, respectively, -0.0.
bool IsAllPositiveZero(const Instruction& instruction);
bool IsAllNegativeZero(const Instruction& instruction);
// Every bit of every element is set: true, or -1 of an integer type.
bool IsAllOnes(const Instruction& instruction);

// A scalar of the type with the value, converted as Literal::SetDouble does.
Literal ScalarLiteral(PrimitiveType type, double value);
// One element of an array literal as a scalar.
Literal ElementLiteral(const Literal& literal, int64_t index);

// The most negative (most positive) value of the type: infinities for floats that have them; pred: false and true.
std::optional<Literal> LowestLiteral(PrimitiveType type);
std::optional<Literal> HighestLiteral(PrimitiveType type);
bool IsAllLowest(const Instruction& instruction);
bool IsAllHighest(const Instruction& instruction);

}  // namespace smelt::hlo
