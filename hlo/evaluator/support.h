// What the evaluator runs, told without running anything.
//
//   EvaluatorRuns(Opcode::kAllReduce)   // false: there is one device
#pragma once

#include "hlo/instruction.h"

namespace smelt::hlo {

// Whether instructions of this opcode run, in types for which they do.
bool EvaluatorRuns(Opcode opcode);
// The same with the element types: false where an elementwise opcode has no loop for those of the instruction.
bool EvaluatorRuns(const Instruction& instruction);

}  // namespace smelt::hlo
