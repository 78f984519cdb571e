#include "targets/xla/library_fusions.h"

#include <algorithm>
#include <string>

#include "targets/xla/loop_fusions.h"
#include "targets/xla/loop_rules.h"

namespace smelt::xla {
namespace {

using hlo::Instruction;
using hlo::Opcode;

void Replace(Instruction* instruction, Opcode opcode, hlo::Attributes attributes) {
  hlo::Computation* computation = instruction->parent();
  Instruction* fresh = computation->Add(opcode, instruction->shape(), instruction->operands(), std::move(attributes),
                                        instruction->name(), {instruction->called(0)});
  fresh->raw_attributes() = instruction->raw_attributes();
  for (Instruction* before : instruction->control_predecessors()) fresh->AddControlPredecessor(before);
  for (Instruction* after : instruction->control_successors()) after->AddControlPredecessor(fresh);
  instruction->DropControlDependencies();
  if (instruction->IsRoot()) computation->set_root(fresh);
  instruction->ReplaceAllUsesWith(fresh);
  computation->Remove(instruction);
}

}  // namespace

bool IsLibraryFusion(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kFusion || instruction.called().size() != 1) return false;
  return std::any_of(
      instruction.raw_attributes().begin(), instruction.raw_attributes().end(), [](const hlo::RawAttribute& attribute) {
        return attribute.name == "backend_config" && attribute.value.find(kLibraryFusion) != std::string::npos;
      });
}

int64_t HoldLibraryFusions(hlo::Module* module) {
  int64_t held = 0;
  for (hlo::Computation* computation : module->ExecutedComputations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (!IsLibraryFusion(*instruction)) continue;
      Replace(instruction, Opcode::kCustomCall, hlo::CustomCallAttributes{kHeldFusion});
      ++held;
    }
  }
  return held;
}

void ReleaseLibraryFusions(hlo::Module* module) {
  for (hlo::Computation* computation : module->ExecutedComputations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (IsHeldFusion(*instruction))
        Replace(instruction, Opcode::kFusion, hlo::FusionAttributes{hlo::FusionKind::kCustom});
    }
  }
}

}  // namespace smelt::xla
