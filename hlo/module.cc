#include "hlo/module.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace smelt::hlo {
namespace {

// `add.12` -> `add`: the stem that suffixes are counted for.
std::string_view Stem(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return name;
  for (char c : name.substr(dot + 1)) {
    if (c < '0' || c > '9') return name;
  }
  return name.substr(0, dot);
}

std::string UniqueName(std::string_view wanted, absl::flat_hash_set<std::string>& taken,
                       absl::flat_hash_map<std::string, int64_t>& counters) {
  if (taken.insert(std::string(wanted)).second) return std::string(wanted);
  const std::string stem(Stem(wanted));
  int64_t& counter = counters[stem];
  for (;;) {
    std::string name = absl::StrCat(stem, ".", ++counter);
    if (taken.insert(name).second) return name;
  }
}

// Depth-first over called computations, callees first, without recursion.
std::vector<Computation*> CalleesFirst(const std::vector<Computation*>& roots, bool (*follow)(const Instruction&)) {
  std::vector<Computation*> order;
  absl::flat_hash_set<const Computation*> seen;
  struct Frame {
    Computation* computation;
    std::vector<Computation*> callees;
    size_t next = 0;
  };
  auto open = [&](Computation* computation) {
    Frame frame{computation, {}, 0};
    for (Instruction* instruction : computation->Instructions()) {
      if (!follow(*instruction)) continue;
      frame.callees.insert(frame.callees.end(), instruction->called().begin(), instruction->called().end());
    }
    return frame;
  };
  std::vector<Frame> stack;
  for (Computation* root : roots) {
    if (!seen.insert(root).second) continue;
    stack.push_back(open(root));
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.callees.size()) {
        order.push_back(frame.computation);
        stack.pop_back();
        continue;
      }
      Computation* callee = frame.callees[frame.next++];
      if (seen.insert(callee).second) stack.push_back(open(callee));
    }
  }
  return order;
}

bool RunsKernels(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCall:
    case Opcode::kAsyncStart:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Module::NameInstruction(std::string_view wanted, Instruction* instruction) {
  std::string& name = instruction->name_;
  name = wanted;
  if (instructions_by_name_.try_emplace(name, instruction).second) return;
  const std::string stem(Stem(wanted));
  int64_t& counter = name_counters_[stem];
  do {
    name = absl::StrCat(stem, ".", ++counter);
  } while (!instructions_by_name_.try_emplace(name, instruction).second);
}

Instruction* Module::FindInstruction(std::string_view name) const {
  const auto found = instructions_by_name_.find(name);
  return found == instructions_by_name_.end() ? nullptr : found->second;
}

Computation* Module::AddComputation(std::string_view name) {
  std::string unique = UniqueName(name.empty() ? "computation" : name, computation_names_, name_counters_);
  computations_.push_back(std::unique_ptr<Computation>(new Computation(this, NextId(), std::move(unique))));
  return computations_.back().get();
}

void Module::RemoveComputation(Computation* computation) {
  Check(computation != entry_, "the entry computation cannot be removed");
  for (Instruction* instruction : computation->Instructions()) instructions_by_name_.erase(instruction->name());
  computation_names_.erase(computation->name());
  const auto found = std::find_if(computations_.rbegin(), computations_.rend(),
                                  [&](const auto& owned) { return owned.get() == computation; });
  if (found != computations_.rend()) computations_.erase(std::next(found).base());
}

std::vector<Computation*> Module::Computations() const {
  std::vector<Computation*> computations;
  computations.reserve(computations_.size());
  for (const auto& computation : computations_) computations.push_back(computation.get());
  return computations;
}

std::vector<Computation*> Module::PostOrder() const {
  std::vector<Computation*> roots;
  for (const auto& computation : computations_) {
    if (computation.get() != entry_) roots.push_back(computation.get());
  }
  if (entry_ != nullptr) roots.push_back(entry_);
  return CalleesFirst(roots, [](const Instruction&) { return true; });
}

std::vector<Computation*> Module::ExecutedComputations() const {
  if (entry_ == nullptr) return {};
  return CalleesFirst({entry_}, RunsKernels);
}

int64_t Module::instruction_count() const {
  int64_t count = 0;
  for (const auto& computation : computations_) count += computation->instruction_count();
  return count;
}

std::unique_ptr<Module> Module::Clone(absl::flat_hash_map<const Computation*, Computation*>* computation_map,
                                      absl::flat_hash_map<const Instruction*, Instruction*>* instruction_map) const {
  auto module = std::make_unique<Module>(name_);
  module->raw_attributes_ = raw_attributes_;
  module->tables_ = tables_;
  absl::flat_hash_map<const Computation*, Computation*> computations;
  absl::flat_hash_map<const Instruction*, Instruction*> instructions;
  for (const auto& old : computations_) computations[old.get()] = module->AddComputation(old->name());
  for (const auto& old : computations_) {
    Computation* fresh = computations[old.get()];
    fresh->raw_attributes() = old->raw_attributes();
    for (Instruction* instruction : old->PostOrder()) {
      std::vector<Instruction*> operands;
      operands.reserve(instruction->operand_count());
      for (Instruction* operand : instruction->operands()) operands.push_back(instructions.at(operand));
      Instruction* clone = fresh->AddClone(*instruction, std::move(operands));
      std::vector<Computation*> called;
      for (Computation* callee : instruction->called()) called.push_back(computations.at(callee));
      clone->set_called(std::move(called));
      for (Instruction* before : instruction->control_predecessors())
        clone->AddControlPredecessor(instructions.at(before));
      instructions[instruction] = clone;
    }
    if (old->root() != nullptr) fresh->set_root(instructions.at(old->root()));
  }
  if (entry_ != nullptr) module->entry_ = computations.at(entry_);
  if (computation_map != nullptr) *computation_map = std::move(computations);
  if (instruction_map != nullptr) *instruction_map = std::move(instructions);
  return module;
}

Computation* Module::CloneComputation(const Computation& computation, std::string_view name) {
  absl::flat_hash_map<const Computation*, Computation*> computations;
  for (Computation* old :
       CalleesFirst({const_cast<Computation*>(&computation)}, [](const Instruction&) { return true; })) {
    Computation* fresh = AddComputation(old == &computation && !name.empty() ? name : old->name());
    fresh->raw_attributes() = old->raw_attributes();
    absl::flat_hash_map<const Instruction*, Instruction*> instructions;
    for (Instruction* instruction : old->PostOrder()) {
      std::vector<Instruction*> operands;
      for (Instruction* operand : instruction->operands()) operands.push_back(instructions.at(operand));
      Instruction* clone = fresh->AddClone(*instruction, std::move(operands));
      std::vector<Computation*> called;
      for (Computation* callee : instruction->called()) called.push_back(computations.at(callee));
      clone->set_called(std::move(called));
      for (Instruction* before : instruction->control_predecessors())
        clone->AddControlPredecessor(instructions.at(before));
      instructions[instruction] = clone;
    }
    if (old->root() != nullptr) fresh->set_root(instructions.at(old->root()));
    computations[old] = fresh;
  }
  return computations.at(&computation);
}

}  // namespace smelt::hlo
