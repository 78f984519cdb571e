#include "hlo/rewrite/rewrite_each.h"

#include <vector>

namespace smelt::hlo {

bool RewriteEach(Module& module, Opcode opcode, absl::FunctionRef<bool(Instruction&)> rewrite) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    std::vector<Instruction*> found;
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() == opcode) found.push_back(instruction);
    }
    for (Instruction* instruction : found) changed |= rewrite(*instruction);
  }
  return changed;
}

}  // namespace smelt::hlo
