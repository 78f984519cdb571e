#include "fusion/rules.h"

#include "fusion/kernel.h"
#include "hlo/computation.h"
#include "hlo/loop_nest.h"

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

Hash128 Rules::Hash() const {
  Hasher hasher;
  hasher.Add(name);
  if (max_evaluations > 0) hasher.Add(static_cast<int64_t>(max_evaluations));
  if (moves_arrays_of_contractions) hasher.Add("moves arrays of contractions");
  for (int64_t limit :
       {int64_t{max_operands_and_outputs}, int64_t{max_instructions}, int64_t{max_depth}, int64_t{max_reductions},
        max_scratch_bytes, max_row_bytes, int64_t{reduction_copies}, int64_t{reads_through_contraction_operands},
        sibling_bytes, int64_t{max_concatenate_operands}, static_cast<int64_t>(recompute_factor * 1024)}) {
    hasher.Add(limit);
  }
  return hasher.Finish();
}

Role RoleOf(Opcode opcode) {
  if (!IsKernel(opcode) || opcode == Opcode::kFusion) return Role::kOutside;
  if (!hlo::LoopsOf(opcode).loop_nest) return Role::kOpaque;
  switch (opcode) {
    case Opcode::kDot:
    case Opcode::kScaledDot:
    case Opcode::kConvolution:
      return Role::kContraction;
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return Role::kReduction;
    default:
      return Role::kInjective;
  }
}

Role OwnRoleOf(const Instruction& instruction) {
  const Role role = RoleOf(instruction.opcode());
  const bool loops = role == Role::kInjective || role == Role::kReduction || role == Role::kContraction;
  return loops && !hlo::HasLoopNest(instruction).ok() ? Role::kOpaque : role;
}

}  // namespace smelt::fusion
