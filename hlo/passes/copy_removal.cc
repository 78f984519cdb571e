#include "hlo/passes/copy_removal.h"

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {

absl::StatusOr<bool> RemoveCopies(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* copy : computation->PostOrder()) {
      if (copy->opcode() != Opcode::kCopy || !Replace(*copy, copy->operand(0))) continue;
      computation->Remove(copy);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
