#include "hlo/evaluator/support.h"

#include "hlo/evaluator/elementwise_kernel.h"
#include "hlo/evaluator/evaluation.h"

namespace smelt::hlo {

bool EvaluatorRuns(Opcode opcode) {
  // The first two are values that a computation starts with, not steps.
  return opcode == Opcode::kParameter || opcode == Opcode::kConstant || FindHandler(opcode) != nullptr;
}

bool EvaluatorRuns(const Instruction& instruction) {
  if (!EvaluatorRuns(instruction.opcode())) return false;
  if (!IsElementwise(instruction.opcode()) || instruction.opcode() == Opcode::kStochasticConvert) return true;
  return FindElementwiseKernel(instruction).ok();
}

}  // namespace smelt::hlo
