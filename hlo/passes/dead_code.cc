#include "hlo/passes/dead_code.h"

#include <vector>

#include "hlo/unreachable.h"

namespace smelt::hlo {

bool RemoveDeadInstructions(Computation& computation, const SideEffects& effects) {
  const std::vector<Instruction*> order = computation.PostOrder();
  bool changed = false;
  // Users come after what they use, so that one walk backwards sees every instruction after its last user has gone.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Instruction* instruction = *it;
    if (instruction->user_count() > 0 || instruction->IsRoot() || instruction->opcode() == Opcode::kParameter) continue;
    if (instruction->HasControlEdges() || effects.Has(*instruction)) continue;
    computation.Remove(instruction);
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> EliminateDeadCode(Module& module) {
  if (module.entry() == nullptr) return absl::InvalidArgumentError("dead code: the module has no entry computation");
  bool changed = RemoveUnreachableComputations(module);
  const SideEffects effects(module);
  // Callers first: what they no longer call need not be cleaned.
  std::vector<Computation*> computations = module.PostOrder();
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    changed |= RemoveDeadInstructions(**it, effects);
  }
  changed |= RemoveUnreachableComputations(module);
  return changed;
}

}  // namespace smelt::hlo
