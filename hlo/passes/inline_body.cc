#include "hlo/passes/inline_body.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace smelt::hlo {

namespace {

// What the root is computed from and, to be on the safe side, all that has side effects or calls something. Copying
// instructions that are dead would let them pile up from call to call.
absl::flat_hash_set<const Instruction*> Needed(const Computation& body) {
  std::vector<const Instruction*> open = {body.root()};
  for (const Instruction* instruction : body.Instructions()) {
    if (HasFlag(instruction->opcode(), kSideEffect) || instruction->opcode() == Opcode::kCustomCall ||
        !instruction->called().empty()) {
      open.push_back(instruction);
    }
  }
  absl::flat_hash_set<const Instruction*> needed;
  while (!open.empty()) {
    const Instruction* instruction = open.back();
    open.pop_back();
    if (!needed.insert(instruction).second) continue;
    open.insert(open.end(), instruction->operands().begin(), instruction->operands().end());
    open.insert(open.end(), instruction->control_predecessors().begin(), instruction->control_predecessors().end());
  }
  return needed;
}

}  // namespace

Instruction* InlineBody(const Computation& body, absl::Span<Instruction* const> operands, Computation& into) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  const absl::flat_hash_set<const Instruction*> needed = Needed(body);
  for (const Instruction* instruction : body.PostOrder()) {
    if (!needed.contains(instruction)) continue;
    if (instruction->opcode() == Opcode::kParameter) {
      copies[instruction] = operands[instruction->attributes<ParameterAttributes>().number];
      continue;
    }
    std::vector<Instruction*> copied_operands;
    copied_operands.reserve(instruction->operand_count());
    for (const Instruction* operand : instruction->operands()) copied_operands.push_back(copies.at(operand));
    Instruction* copy = into.AddClone(*instruction, std::move(copied_operands));
    for (const Instruction* before : instruction->control_predecessors()) {
      if (before->opcode() != Opcode::kParameter) copy->AddControlPredecessor(copies.at(before));
    }
    copies[instruction] = copy;
  }
  return copies.at(body.root());
}

}  // namespace smelt::hlo
