#include "hlo/passes/computation_deduplication.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo/passes/equality.h"

namespace smelt::hlo {
namespace {

bool AppliesToScalars(Opcode opcode) {
  switch (opcode) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kMap:
    case Opcode::kScan:
    case Opcode::kAllReduce:
    case Opcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

struct Hash {
  size_t operator()(const Computation* x) const { return HashComputation(*x); }
};
struct Equal {
  bool operator()(const Computation* a, const Computation* b) const { return a == b || SameComputation(*a, *b); }
};

}  // namespace

absl::StatusOr<bool> DeduplicateComputations(Module& module) {
  absl::flat_hash_set<Computation*, Hash, Equal> representatives;
  absl::flat_hash_map<const Computation*, Computation*> chosen;
  bool changed = false;
  // Callees first: what a computation calls is final when the computation is hashed.
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (!AppliesToScalars(instruction->opcode())) continue;
      std::vector<Computation*> called(instruction->called().begin(), instruction->called().end());
      for (Computation*& callee : called) {
        const auto [it, is_new] = chosen.try_emplace(callee, nullptr);
        if (is_new) it->second = *representatives.insert(callee).first;
        callee = it->second;
      }
      if (called == std::vector<Computation*>(instruction->called().begin(), instruction->called().end())) continue;
      instruction->set_called(std::move(called));
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
