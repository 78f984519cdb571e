#include "hlo/passes/side_effects.h"

namespace smelt::hlo {

SideEffects::SideEffects(const Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* instruction : computation->Instructions()) {
      if (!Has(*instruction)) continue;
      computations_.insert(computation);
      break;
    }
  }
}

bool SideEffects::Has(const Instruction& instruction) const {
  if (HasFlag(instruction.opcode(), kSideEffect)) return true;
  if (instruction.opcode() == Opcode::kCustomCall) {
    return instruction.attributes<CustomCallAttributes>().has_side_effect;
  }
  for (const Computation* called : instruction.called()) {
    if (computations_.contains(called)) return true;
  }
  return false;
}

}  // namespace smelt::hlo
