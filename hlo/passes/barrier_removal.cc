#include "hlo/passes/barrier_removal.h"

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {

absl::StatusOr<bool> RemoveBarriers(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* barrier : computation->Instructions()) {
      if (barrier->opcode() != Opcode::kOptimizationBarrier || !Replace(*barrier, barrier->operand(0))) continue;
      computation->Remove(barrier);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
