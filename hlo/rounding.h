// Which instructions round.
#pragma once

#include "hlo/instruction.h"

namespace smelt::hlo {

// Whether the instruction's float results depend on how an engine rounds. What only moves, compares or chooses numbers
// does not; what reduces may, whatever its body does. A narrowing conversion rounds the same way everywhere.
bool RoundsResult(const Instruction& instruction);

}  // namespace smelt::hlo
