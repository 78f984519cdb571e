#include "hlo/passes/inline_body.h"

#include <vector>

#include "absl/container/flat_hash_map.h"

namespace smelt::hlo {

Instruction* InlineBody(const Computation& body, absl::Span<Instruction* const> operands, Computation& into) {
  absl::flat_hash_map<const Instruction*, Instruction*> copies;
  for (const Instruction* instruction : body.PostOrder()) {
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
