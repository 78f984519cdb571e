#include "targets/xla/outline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/str_cat.h"

namespace smelt::xla {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

Instruction* Outline(Instruction* instruction, Opcode opcode, hlo::Attributes attributes, std::string_view prefix) {
  Computation* around = instruction->parent();
  const std::string name = StrCat(prefix, instruction->name());
  Computation* body = around->parent()->AddComputation(StrCat(name, "_computation"));
  std::vector<Instruction*> operands, parameters;  // each operand once
  for (Instruction* operand : instruction->operands()) {
    auto known = std::find(operands.begin(), operands.end(), operand);
    const size_t number = static_cast<size_t>(known - operands.begin());
    if (known == operands.end()) {
      operands.push_back(operand);
      parameters.push_back(body->Add(Opcode::kParameter, operand->shape(), {},
                                     hlo::ParameterAttributes{static_cast<int64_t>(number)}, StrCat("param_", number)));
    }
  }
  std::vector<Instruction*> inner;
  for (Instruction* operand : instruction->operands())
    inner.push_back(parameters[std::find(operands.begin(), operands.end(), operand) - operands.begin()]);
  body->set_root(body->AddClone(*instruction, std::move(inner)));
  Instruction* outside = around->Add(opcode, instruction->shape(), operands, std::move(attributes), name, {body});
  for (Instruction* before : instruction->control_predecessors()) outside->AddControlPredecessor(before);
  for (Instruction* after : instruction->control_successors()) after->AddControlPredecessor(outside);
  instruction->DropControlDependencies();
  instruction->ReplaceAllUsesWith(outside);
  around->Remove(instruction);
  return outside;
}

}  // namespace smelt::xla
