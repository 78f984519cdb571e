#include "hlo/passes/dead_code.h"

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace smelt::hlo {
namespace {

bool HasControlDependencies(const Instruction& instruction) {
  return !instruction.control_predecessors().empty() || !instruction.control_successors().empty();
}

bool RemoveUncalledComputations(Module& module) {
  absl::flat_hash_set<const Computation*> reached = {module.entry()};
  std::vector<const Computation*> open = {module.entry()};
  while (!open.empty()) {
    const Computation* computation = open.back();
    open.pop_back();
    for (const Instruction* instruction : computation->Instructions()) {
      for (const Computation* called : instruction->called()) {
        if (reached.insert(called).second) open.push_back(called);
      }
    }
  }
  bool changed = false;
  // The last first: it is found and taken out of the module's list at once.
  const std::vector<Computation*> computations = module.Computations();
  for (auto computation = computations.rbegin(); computation != computations.rend(); ++computation) {
    if (reached.contains(*computation)) continue;
    module.RemoveComputation(*computation);
    changed = true;
  }
  return changed;
}

}  // namespace

bool RemoveDeadInstructions(Computation& computation, const SideEffects& effects) {
  const std::vector<Instruction*> order = computation.PostOrder();
  bool changed = false;
  // Users come after what they use, so that one walk backwards sees every instruction after its last user has gone.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    Instruction* instruction = *it;
    if (instruction->user_count() > 0 || instruction->IsRoot() || instruction->opcode() == Opcode::kParameter) continue;
    if (HasControlDependencies(*instruction) || effects.Has(*instruction)) continue;
    computation.Remove(instruction);
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> EliminateDeadCode(Module& module) {
  if (module.entry() == nullptr) return absl::InvalidArgumentError("dead code: the module has no entry computation");
  bool changed = RemoveUncalledComputations(module);
  const SideEffects effects(module);
  // Callers first: what they no longer call need not be cleaned.
  std::vector<Computation*> computations = module.PostOrder();
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    changed |= RemoveDeadInstructions(**it, effects);
  }
  changed |= RemoveUncalledComputations(module);
  return changed;
}

}  // namespace smelt::hlo
