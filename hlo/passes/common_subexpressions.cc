#include "hlo/passes/common_subexpressions.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "hlo/passes/equality.h"
#include "hlo/passes/side_effects.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool MayBeShared(const Instruction& x) {
  switch (x.opcode()) {
    case Opcode::kParameter:
    case Opcode::kCustomCall:
    case Opcode::kAfterAll:
    case Opcode::kAddDependency:
    case Opcode::kCopyStart:
    case Opcode::kCopyDone:
    case Opcode::kOptimizationBarrier:
    case Opcode::kFusion:
    case Opcode::kWhile:
      return false;
    default:
      break;
  }
  return GetOpcodeInfo(x.opcode()).category != OpcodeCategory::kCollective && !x.HasControlEdges();
}

std::vector<int64_t> OperandIds(const Instruction& x) {
  std::vector<int64_t> ids;
  for (const Instruction* operand : x.operands()) ids.push_back(operand->id());
  if (HasFlag(x.opcode(), kCommutative)) std::sort(ids.begin(), ids.end());
  return ids;
}

// The hash is kept: hashing again, when the set grows, would read large constants again.
struct Entry {
  Instruction* instruction;
  size_t hash;
};
struct Hash {
  size_t operator()(const Entry& entry) const { return entry.hash; }
};
struct Equal {
  bool operator()(const Entry& a, const Entry& b) const {
    return a.hash == b.hash && SameOperation(*a.instruction, *b.instruction) &&
           OperandIds(*a.instruction) == OperandIds(*b.instruction);
  }
};

bool ShareWithin(Computation& computation, const SideEffects& effects) {
  absl::flat_hash_set<Entry, Hash, Equal> seen;
  bool changed = false;
  for (Instruction* instruction : computation.PostOrder()) {
    if (!MayBeShared(*instruction) || effects.Has(*instruction)) continue;
    const size_t hash = absl::HashOf(HashOperation(*instruction), OperandIds(*instruction));
    const auto [it, is_new] = seen.insert({instruction, hash});
    if (is_new || !Replace(*instruction, it->instruction)) continue;
    computation.Remove(instruction);
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> EliminateCommonSubexpressions(Module& module) {
  const SideEffects effects(module);
  bool changed = false;
  for (Computation* computation : module.Computations()) changed |= ShareWithin(*computation, effects);
  return changed;
}

}  // namespace smelt::hlo
