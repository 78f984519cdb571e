#include "targets/cpu/program/peel_updates.h"

#include "base/status_macros.h"
#include "runtime/update_slice.h"

namespace smelt::cpu {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using Source = PeeledValue::Source;

// What an instruction stands for in memory.
const Instruction* SameBytes(const Instruction* instruction) {
  while (fusion::KeepsBytes(*instruction)) instruction = instruction->operand(0);
  return instruction;
}

bool IsParameter(const Instruction& instruction) { return instruction.opcode() == Opcode::kParameter; }

int64_t NumberOf(const Instruction& parameter) { return parameter.attributes<hlo::ParameterAttributes>().number; }

// The update that makes an output, if it is one that can be made in place: of a parameter, by nobody else needed.
const Instruction* UpdateOf(const Instruction* output) {
  const Instruction* instruction = SameBytes(output);
  if (instruction->opcode() != Opcode::kDynamicUpdateSlice || instruction->shape().rank() > runtime::kMaxUpdateRank) {
    return nullptr;
  }
  if (instruction->user_count() > 1 || !IsParameter(*SameBytes(instruction->operand(0)))) return nullptr;
  return instruction;
}

// A kernel that computes `values` of another kernel. Operands of the result are that kernel's parameters.
absl::StatusOr<fusion::Kernel> Compute(const fusion::Kernel& kernel, const std::vector<const Instruction*>& values) {
  hlo::Module module(kernel.name);
  // The copy is made in this order, which finds the values again.
  const std::vector<Instruction*> originals = kernel.computation().PostOrder();
  hlo::Computation* body = module.CloneComputation(kernel.computation());
  const std::vector<Instruction*> copies = body->Instructions();
  std::vector<Instruction*> outputs;
  std::vector<hlo::Shape> shapes;
  for (const Instruction* value : values) {
    for (size_t i = 0; i < originals.size(); ++i) {
      if (originals[i] == value) outputs.push_back(copies[i]);
    }
    shapes.push_back(value->shape());
  }
  Instruction* root = outputs[0];
  if (outputs.size() > 1) root = body->Add(Opcode::kTuple, hlo::Shape::Tuple(std::move(shapes)), outputs);
  body->set_root(root);
  hlo::Computation* entry = module.AddComputation("main");
  std::vector<Instruction*> parameters;
  for (const Instruction* parameter : kernel.computation().Parameters()) {
    parameters.push_back(entry->Add(Opcode::kParameter, parameter->shape(), {},
                                    hlo::ParameterAttributes{static_cast<int64_t>(parameters.size())}));
  }
  Instruction* fusion =
      entry->Add(Opcode::kFusion, root->shape(), parameters, hlo::FusionAttributes{}, kernel.name, {body});
  entry->set_root(fusion);
  module.set_entry(entry);
  return fusion::ExtractKernel(*fusion);
}

}  // namespace

absl::StatusOr<std::optional<PeeledKernel>> PeelSliceUpdates(const fusion::Kernel& kernel) {
  for (const Instruction* parameter : kernel.computation().Parameters()) {
    if (!parameter->shape().IsArray()) return std::optional<PeeledKernel>();
  }
  const Instruction* root = kernel.computation().root();
  std::vector<const Instruction*> roots = {root};
  if (root->opcode() == Opcode::kTuple) roots.assign(root->operands().begin(), root->operands().end());
  PeeledKernel peeled;
  std::vector<const Instruction*> compute, index;
  bool any = false;
  // A parameter or constant, or one more output of a kernel.
  auto value_of = [](const Instruction* instruction, Source computed, std::vector<const Instruction*>* values) {
    PeeledValue value;
    const Instruction* bytes = SameBytes(instruction);
    if (IsParameter(*bytes)) {
      value.number = NumberOf(*bytes);
    } else if (bytes->opcode() == Opcode::kConstant) {
      value.source = Source::kConstant;
      value.constant = bytes;
    } else {
      value.source = computed;
      value.number = static_cast<int64_t>(values->size());
      values->push_back(instruction);
    }
    return value;
  };
  for (const Instruction* output : roots) {
    if (!output->shape().IsArray()) return std::optional<PeeledKernel>();
    PeeledOutput entry;
    entry.update = UpdateOf(output);
    if (entry.update == nullptr) {
      entry.value = value_of(output, Source::kCompute, &compute);
    } else {
      any = true;
      entry.array = NumberOf(*SameBytes(entry.update->operand(0)));
      entry.value = value_of(entry.update->operand(1), Source::kCompute, &compute);
      for (int64_t i = 2; i < entry.update->operand_count(); ++i) {
        entry.starts.push_back(value_of(entry.update->operand(i), Source::kIndex, &index));
      }
    }
    peeled.outputs.push_back(std::move(entry));
  }
  if (!any) return std::optional<PeeledKernel>();
  if (!compute.empty()) {
    SMELT_ASSIGN_OR_RETURN(peeled.compute, Compute(kernel, compute));
  }
  if (!index.empty()) {
    SMELT_ASSIGN_OR_RETURN(peeled.index, Compute(kernel, index));
  }
  return std::optional<PeeledKernel>(std::move(peeled));
}

}  // namespace smelt::cpu
