#include "hlo/unreachable.h"

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace smelt::hlo {

bool RemoveUnreachableComputations(Module& module) {
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
  const std::vector<Computation*> order = module.PostOrder();
  bool removed = false;
  for (auto computation = order.rbegin(); computation != order.rend(); ++computation) {  // callers first
    if (reached.contains(*computation)) continue;
    module.RemoveComputation(*computation);
    removed = true;
  }
  return removed;
}

}  // namespace smelt::hlo
