#include "targets/cpu/program/runtime_size_region.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/str_cat.h"

namespace smelt::cpu {
namespace {

using hlo::Instruction;

bool HasOpenSize(const hlo::Shape& shape) {
  std::vector<const hlo::Shape*> leaves;
  shape.AppendLeaves(&leaves);
  return std::any_of(leaves.begin(), leaves.end(),
                     [](const hlo::Shape* leaf) { return leaf->IsArray() && leaf->IsDynamic(); });
}

// The tuple of results only names arrays.
bool IsResultTuple(const Instruction& instruction) {
  return instruction.opcode() == hlo::Opcode::kTuple && instruction.IsRoot();
}

bool TouchesOpenSize(const Instruction& instruction) {
  if (IsResultTuple(instruction)) return false;
  return HasOpenSize(instruction.shape()) ||
         std::any_of(instruction.operands().begin(), instruction.operands().end(),
                     [](const Instruction* operand) { return HasOpenSize(operand->shape()); });
}

std::string Why(const Instruction& instruction) {
  return StrCat(instruction.name(), " has a size known only at run time (", instruction.shape().ToString(),
                "), which travels from instruction to instruction with the array");
}

}  // namespace

std::optional<RuntimeSizeRegion> FindRuntimeSizeRegion(const hlo::Computation& computation) {
  const std::vector<Instruction*> order = computation.PostOrder();
  RuntimeSizeRegion region;
  absl::flat_hash_set<const Instruction*> after;  // members, and what reads them
  for (const Instruction* instruction : order) {
    if (TouchesOpenSize(*instruction)) {
      region.members.insert(instruction);
      if (region.why.empty() && HasOpenSize(instruction->shape())) region.why = Why(*instruction);
    }
    const bool reads = std::any_of(instruction->operands().begin(), instruction->operands().end(),
                                   [&](const Instruction* operand) { return after.contains(operand); });
    if (reads || region.members.contains(instruction)) after.insert(instruction);
  }
  if (region.members.empty()) return std::nullopt;
  // Backwards: what members need. Of that, what reads a member lies between two and becomes one.
  absl::flat_hash_set<const Instruction*> needed;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Instruction* instruction = *at;
    if (needed.contains(instruction) && after.contains(instruction)) region.members.insert(instruction);
    if (region.members.contains(instruction) || needed.contains(instruction)) {
      needed.insert(instruction->operands().begin(), instruction->operands().end());
    }
  }
  for (const Instruction* instruction : order) {
    const bool member = region.members.contains(instruction);
    if (!member && needed.contains(instruction)) region.before.insert(instruction);
    const auto outside = [&](const Instruction* x) { return !region.members.contains(x); };
    const auto inside = [&](const Instruction* x) { return region.members.contains(x); };
    if (!member && std::any_of(instruction->users().begin(), instruction->users().end(), inside)) {
      region.inputs.push_back(instruction);
    }
    if (member && (instruction == computation.root() ||
                   std::any_of(instruction->users().begin(), instruction->users().end(), outside))) {
      region.outputs.push_back(instruction);
    }
  }
  if (region.outputs.empty()) return std::nullopt;  // dead
  return region;
}

std::unique_ptr<hlo::Module> ModuleOf(const RuntimeSizeRegion& region, const hlo::Computation& computation,
                                      const hlo::Module& owner) {
  absl::flat_hash_map<const Instruction*, Instruction*> cloned;
  std::unique_ptr<hlo::Module> module = owner.Clone(nullptr, &cloned);
  hlo::Computation* entry = module->AddComputation("at_runtime_sizes");
  absl::flat_hash_map<const Instruction*, Instruction*> made;
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    made[region.inputs[i]] = entry->Add(hlo::Opcode::kParameter, region.inputs[i]->shape(), {},
                                        hlo::ParameterAttributes{static_cast<int64_t>(i)});
  }
  for (const Instruction* instruction : computation.PostOrder()) {
    if (!region.members.contains(instruction)) continue;
    std::vector<Instruction*> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(made.at(operand));
    made[instruction] = entry->AddClone(*cloned.at(instruction), operands);
  }
  std::vector<Instruction*> outputs;
  std::vector<hlo::Shape> shapes;
  for (const Instruction* output : region.outputs) {
    outputs.push_back(made.at(output));
    shapes.push_back(output->shape());
  }
  entry->set_root(entry->Add(hlo::Opcode::kTuple, hlo::Shape::Tuple(shapes), outputs));
  module->set_entry(entry);
  return module;
}

std::optional<std::string> WhyOnePiece(const hlo::Module& module) {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (parameter != nullptr && HasOpenSize(parameter->shape())) return Why(*parameter);
  }
  for (const hlo::Computation* computation : module.ExecutedComputations()) {
    for (const Instruction* instruction : computation->Instructions()) {
      if (instruction->opcode() != hlo::Opcode::kSetDimensionSize || HasOpenSize(instruction->shape())) continue;
      return Why(*instruction);
    }
  }
  return std::nullopt;
}

}  // namespace smelt::cpu
