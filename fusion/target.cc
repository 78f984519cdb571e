#include "fusion/target.h"

#include "hlo/computation.h"

namespace smelt::fusion {

using hlo::Instruction;
using hlo::Opcode;

double ElementCost(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kMap:
      return static_cast<double>(instruction.called(0)->instruction_count());
    case Opcode::kGather:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
      return 1;
    case Opcode::kConvert:
    case Opcode::kCopy:
      return 0;
    default:
      break;
  }
  if (!hlo::IsElementwise(instruction.opcode())) return 0;
  return hlo::HasFlag(instruction.opcode(), hlo::kExpensive) ? 8 : 1;
}

FusionTarget FusionTarget::XlaCpu() {
  FusionTarget target;
  target.name = "xla";
  target.emitter = Emitter::kXlaCpu;
  target.max_scratch_bytes = 0;
  target.max_reductions = 5;
  target.reads_through_contraction_operands = false;
  return target;
}

Hash128 FusionTarget::Hash() const {
  Hasher hasher;
  hasher.Add(name);
  if (emitter == Emitter::kXlaCpu) hasher.Add(static_cast<int64_t>(max_evaluations));
  for (int64_t limit :
       {int64_t{max_operands_and_outputs}, int64_t{max_instructions}, int64_t{max_depth}, int64_t{max_reductions},
        max_scratch_bytes, max_row_bytes, int64_t{reduction_copies}, int64_t{reads_through_contraction_operands},
        sibling_bytes, int64_t{max_concatenate_operands}, static_cast<int64_t>(recompute_factor * 1024)}) {
    hasher.Add(limit);
  }
  return hasher.Finish();
}

}  // namespace smelt::fusion
