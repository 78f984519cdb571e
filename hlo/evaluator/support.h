// Says what the evaluator can run, without running it.
//
//   EvaluatorRuns(Opcode::kAllReduce)   // false: there is one device
#pragma once

#include "hlo/instruction.h"

namespace smelt::hlo {

// Whether instructions of this opcode run for at least some element types.
bool EvaluatorRuns(Opcode opcode);
// Whether this instruction runs: false too where an elementwise opcode has no loop for its element types.
bool EvaluatorRuns(const Instruction& instruction);

}  // namespace smelt::hlo
