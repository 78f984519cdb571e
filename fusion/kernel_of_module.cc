#include "fusion/kernel_of_module.h"

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace smelt::fusion {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// What may stand in the body of a fusion beside what runs as a kernel.
constexpr Opcode kInBodies[] = {Opcode::kParameter, Opcode::kConstant, Opcode::kTuple, Opcode::kGetTupleElement,
                                Opcode::kCall};

absl::Status CheckBody(const hlo::Module& module) {
  for (const Instruction* instruction : module.entry()->Instructions()) {
    bool fits = IsKernel(*instruction) && instruction->opcode() != Opcode::kFusion;
    for (const Opcode opcode : kInBodies) fits |= instruction->opcode() == opcode;
    if (!fits) {
      return absl::InvalidArgumentError(
          StrCat(module.name(), ": is no single kernel: `", instruction->name(), "` is a ",
                 hlo::OpcodeName(instruction->opcode()),
                 ". Give one fused computation: a module with one fusion, or whose entry is the fusion's body"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Kernel> KernelOfModule(const hlo::Module& module) {
  std::vector<const Instruction*> kernels;
  for (const Instruction* instruction : module.entry()->Instructions()) {
    if (IsKernel(*instruction)) kernels.push_back(instruction);
  }
  if (kernels.empty()) return absl::InvalidArgumentError(StrCat(module.name(), ": nothing in it runs as a kernel"));
  const Instruction* root = module.entry()->root();
  if (kernels.size() == 1 && (kernels[0] == root || kernels[0]->opcode() == Opcode::kFusion))
    return ExtractKernel(*kernels[0]);
  if (const absl::Status status = CheckBody(module); !status.ok()) return status;
  std::unique_ptr<hlo::Module> whole = module.Clone();
  hlo::Computation* body = whole->entry();
  hlo::Computation* entry = whole->AddComputation("program");
  std::vector<Instruction*> arguments;
  for (const Instruction* parameter : body->Parameters()) {
    arguments.push_back(entry->Add(Opcode::kParameter, parameter->shape(), {},
                                   hlo::ParameterAttributes{static_cast<int64_t>(arguments.size())}));
  }
  entry->set_root(entry->Add(Opcode::kFusion, body->root()->shape(), std::move(arguments),
                             hlo::FusionAttributes{hlo::FusionKind::kLoop}, "kernel", {body}));
  whole->set_entry(entry);
  SMELT_ASSIGN_OR_RETURN(Kernel kernel, ExtractKernel(*entry->root()));
  kernel.name = module.name();
  return kernel;
}

}  // namespace smelt::fusion
