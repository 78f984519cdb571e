#include "hlo/computation.h"

#include <algorithm>

#include "base/check.h"
#include "hlo/module.h"

namespace smelt::hlo {

Instruction* Computation::Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
                              Attributes attributes, std::string_view name, std::vector<Computation*> called) {
  auto owned = std::unique_ptr<Instruction>(
      new Instruction(this, parent_->NextId(), opcode, std::move(shape), std::move(attributes)));
  Instruction* instruction = owned.get();
  instruction->operands_.assign(operands.begin(), operands.end());
  instruction->set_called(std::move(called));
  parent_->NameInstruction(name.empty() ? OpcodeName(opcode) : name, instruction);
  instruction->slot_ = static_cast<int64_t>(slots_.size());
  for (Instruction* operand : instruction->operands_) operand->AddUser(instruction);
  slots_.push_back(std::move(owned));
  ++count_;
  return instruction;
}

Instruction* Computation::AddClone(const Instruction& instruction, absl::Span<Instruction* const> operands,
                                   std::string_view name) {
  Instruction* clone =
      Add(instruction.opcode(), instruction.shape(), operands, instruction.all_attributes(),
          name.empty() ? instruction.name() : name, {instruction.called().begin(), instruction.called().end()});
  clone->raw_attributes_ = instruction.raw_attributes_;
  return clone;
}

void Computation::Remove(Instruction* instruction) {
  Check(instruction->users_.empty(), "an instruction with users cannot be removed");
  Check(instruction != root_, "the root cannot be removed");
  instruction->DropControlDependencies();
  std::vector<Instruction*> operands(instruction->operands_.begin(), instruction->operands_.end());
  instruction->operands_.clear();
  // Each operand once: looking again for a user that has gone would read the whole list of users.
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  for (Instruction* operand : operands) operand->DropUser(instruction);
  parent_->instructions_by_name_.erase(instruction->name_);
  const int64_t slot = instruction->slot_;
  slots_[slot].reset();
  --count_;
  if (static_cast<int64_t>(slots_.size()) > 2 * count_ + 64) {
    std::erase(slots_, nullptr);
    for (int64_t i = 0; i < static_cast<int64_t>(slots_.size()); ++i) slots_[i]->slot_ = i;
  }
}

void Computation::Rename(Instruction* instruction, std::string_view name) {
  if (instruction->name_ == name) return;
  std::string wanted(name);
  parent_->instructions_by_name_.erase(instruction->name_);
  parent_->NameInstruction(wanted, instruction);
}

std::vector<Instruction*> Computation::Parameters() const {
  std::vector<Instruction*> parameters;
  for (const auto& slot : slots_) {
    if (!slot || slot->opcode() != Opcode::kParameter) continue;
    const int64_t number = slot->attributes<ParameterAttributes>().number;
    if (number < 0 || number >= static_cast<int64_t>(slots_.size())) continue;
    if (number >= static_cast<int64_t>(parameters.size())) parameters.resize(number + 1);
    parameters[number] = slot.get();
  }
  return parameters;
}

std::vector<Instruction*> Computation::Instructions() const {
  std::vector<Instruction*> instructions;
  instructions.reserve(count_);
  for (const auto& slot : slots_) {
    if (slot) instructions.push_back(slot.get());
  }
  return instructions;
}

std::vector<Instruction*> Computation::PostOrder() const {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<Instruction*> order;
  order.reserve(count_);
  std::vector<uint8_t> state(slots_.size(), kNew);
  std::vector<std::pair<Instruction*, int64_t>> stack;
  for (const auto& slot : slots_) {
    if (!slot || state[slot->slot_] != kNew) continue;
    stack.push_back({slot.get(), 0});
    state[slot->slot_] = kOpen;
    while (!stack.empty()) {
      auto& [instruction, next] = stack.back();
      const int64_t operands = instruction->operand_count();
      const int64_t edges = operands + static_cast<int64_t>(instruction->control_predecessors().size());
      if (next == edges) {
        state[instruction->slot_] = kDone;
        order.push_back(instruction);
        stack.pop_back();
        continue;
      }
      Instruction* before =
          next < operands ? instruction->operands_[next] : instruction->control_predecessors()[next - operands];
      ++next;
      // An open one closes a cycle, which only an unverified module has: the edge is skipped, so that this ends.
      if (before->parent_ != this || state[before->slot_] != kNew) continue;
      state[before->slot_] = kOpen;
      stack.push_back({before, 0});
    }
  }
  return order;
}

}  // namespace smelt::hlo
