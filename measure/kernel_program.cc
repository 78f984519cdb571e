#include "measure/kernel_program.h"

#include <string>
#include <utility>
#include <vector>

namespace smelt::measure {
namespace {

bool IsOperation(const hlo::Instruction& instruction) {
  return instruction.opcode() != hlo::Opcode::kParameter && instruction.opcode() != hlo::Opcode::kConstant &&
         instruction.opcode() != hlo::Opcode::kTuple;
}

hlo::FusionKind KindOf(const hlo::Computation& body) {
  const hlo::Instruction* root = body.root();
  if (root->opcode() == hlo::Opcode::kTuple && root->operand_count() > 0) root = root->operand(0);
  return root->opcode() == hlo::Opcode::kReduce ? hlo::FusionKind::kInput : hlo::FusionKind::kLoop;
}

}  // namespace

std::unique_ptr<hlo::Module> ProgramOfKernel(const fusion::Kernel& kernel) {
  std::unique_ptr<hlo::Module> module = kernel.module->Clone();
  hlo::Computation* body = module->entry();
  int operations = 0;
  for (const hlo::Instruction* instruction : body->Instructions()) operations += IsOperation(*instruction);
  if (operations < 2) return module;
  hlo::Computation* entry = module->AddComputation("program");
  std::vector<hlo::Instruction*> arguments;
  for (const hlo::Instruction* parameter : body->Parameters()) {
    arguments.push_back(entry->Add(hlo::Opcode::kParameter, parameter->shape(), {},
                                   hlo::ParameterAttributes{static_cast<int64_t>(arguments.size())}));
  }
  entry->set_root(entry->Add(hlo::Opcode::kFusion, body->root()->shape(), std::move(arguments),
                             hlo::FusionAttributes{KindOf(*body)}, "kernel", {body}));
  module->set_entry(entry);
  return module;
}

}  // namespace smelt::measure
