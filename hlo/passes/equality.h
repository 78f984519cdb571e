// When two instructions do the same, and when two computations are the same.
//
//   if (HashOperation(*a) == HashOperation(*b) && SameOperation(*a, *b)) ...   // equal up to their operands
//
// Compared are opcode, shape with layout, attributes, called computations, and those carried attributes that can change
// what is computed (backend_config, precision, ...); names and metadata are not.
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
