// When two instructions do the same, and when two computations are the same.
//
//   if (HashOperation(*a) == HashOperation(*b) && SameOperation(*a, *b)) ...   // equal up to their operands
//
// The opcode, the shape with its layout, attributes and called computations must be equal, and so must the attributes
// kept as text that can change what is computed (backend_config, precision, ...). Names and metadata do not count.
#pragma once

#include <cstdint>

#include "hlo/computation.h"

namespace smelt::hlo {

// Operands are the caller's to compare.
bool SameOperation(const Instruction& a, const Instruction& b);
uint64_t HashOperation(const Instruction& instruction);

// Equal instruction by instruction, operands included; what they call must be the same computations. Linear.
bool SameComputation(const Computation& a, const Computation& b);
uint64_t HashComputation(const Computation& computation);

}  // namespace smelt::hlo
