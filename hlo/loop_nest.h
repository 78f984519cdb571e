// Which instructions have a loop nest: the one table by which fusion decides, and for whose instructions the kernel
// compiler has rules (kernels/te/hlo/from_hlo.h).
//
//   absl::Status status = HasLoopNest(instruction);
//   if (!status.ok()) ...   // "sort.3: a sort compares elements in an order that data decides"
//
// The answer follows from the opcode, the element types (complex ones have arithmetic and movement), static shapes with
// elements, and for reduce, reduce-window and map a computation of scalars. An instruction without a loop nest runs
// alone, as an opaque operation.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "hlo/computation.h"
#include "hlo/instruction.h"

namespace smelt::hlo {

// Unimplemented, with the instruction's name and the reason, where it has none.
absl::Status HasLoopNest(const Instruction& instruction);

// Whether every instruction of a kernel has one. The error is the one of the first instruction, or parameter, without.
absl::Status HasLoopNest(const Computation& kernel);

// Whether instructions of an opcode can have a loop nest; if so, on which condition beside their element types, if not,
// why.
struct OpcodeLoops {
  bool loop_nest = false;
  std::string_view note;  // the condition, or the reason; empty: no condition
};
OpcodeLoops LoopsOf(Opcode opcode);

// Whether the result or an operand is an array of complex numbers.
bool HasComplexNumbers(const Instruction& instruction);

// The unsigned integer type of so many bits, where there is one.
std::optional<PrimitiveType> UnsignedOfBits(int bits);

}  // namespace smelt::hlo
