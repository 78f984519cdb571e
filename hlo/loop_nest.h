// What has a loop nest: the one table that fusion decides by, and that the kernel compiler has rules for
// (te/from_hlo.h).
//
//   absl::Status status = HasLoopNest(instruction);
//   if (!status.ok()) ...   // "sort.3: a sort compares elements in an order that data decides"
//
// Asked are the opcode, the element types (complex ones have arithmetic and movement), static shapes with elements, and
// for reduce, reduce-window and map a computation of scalars. What has none runs alone, as an opaque operation.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "hlo/computation.h"
#include "hlo/instruction.h"

namespace smelt::hlo {

// Unimplemented, with the instruction's name and the reason, where it has none.
absl::Status HasLoopNest(const Instruction& instruction);

// Whether all of a kernel has: the reason is that of the first instruction, or parameter, that has not.
absl::Status HasLoopNest(const Computation& kernel);

// The same for an opcode: whether its instructions can have a loop nest, on which condition beside that of element
// types, or why they have none.
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
