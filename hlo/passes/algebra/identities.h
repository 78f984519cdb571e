// Identities of binary operations: 0 of a sum, 1 of a product, the lowest value of a maximum.
#pragma once

#include "hlo/instruction.h"

namespace smelt::hlo {

// Every element of `value` is known to be an identity of the operation for its element type. Either zero counts as one
// of a sum: a reduction may leave its initial value out.
bool IsIdentityOf(Opcode operation, const Instruction& value);

}  // namespace smelt::hlo
