#include "targets/xla/donation.h"

#include <algorithm>
#include <vector>

#include "hlo/aliasing.h"

namespace smelt::xla {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using InstructionSet = absl::flat_hash_set<const Instruction*>;

bool SamePlaces(const hlo::Shape& a, const hlo::Shape& b) {
  if (!a.IsArray() || !b.IsArray() || a.dimensions != b.dimensions) return false;
  if (a.HasDefaultLayout() && b.HasDefaultLayout()) return true;
  return a.layout && b.layout && a.layout->minor_to_major == b.layout->minor_to_major;
}

// The value and everything that stands for the same bytes, or a part of them.
InstructionSet SameMemory(const Instruction& value) {
  InstructionSet same;
  std::vector<const Instruction*> stack = {&value};
  while (!stack.empty()) {
    const Instruction* at = stack.back();
    stack.pop_back();
    if (!same.insert(at).second) continue;
    for (const Instruction* user : at->users()) {
      const Opcode opcode = user->opcode();
      if (opcode == Opcode::kBitcast || opcode == Opcode::kGetTupleElement || opcode == Opcode::kOptimizationBarrier)
        stack.push_back(user);
    }
  }
  return same;
}

// What writes the result's part; null: not one instruction that is known.
const Instruction* Writer(const Instruction& root, const std::vector<int64_t>& path) {
  const Instruction* value = &root;
  for (int64_t index : path) {
    if (value->opcode() != Opcode::kTuple || index < 0 || index >= value->operand_count()) return nullptr;
    value = value->operand(index);
  }
  while (value->opcode() == Opcode::kBitcast) value = value->operand(0);
  return value;
}

// Elementwise work that leads to the writer and nowhere else, the writer included.
InstructionSet WayToWriter(const Instruction* writer, const std::vector<Instruction*>& order) {
  InstructionSet way;
  if (writer == nullptr) return way;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const Instruction* instruction = *at;
    if (!hlo::IsElementwise(instruction->opcode()) || !SamePlaces(instruction->shape(), writer->shape())) continue;
    const auto users = instruction->users();
    const bool leads_there = !users.empty() && std::all_of(users.begin(), users.end(),
                                                           [&](const Instruction* user) { return way.contains(user); });
    if (instruction == writer || leads_there) way.insert(instruction);
  }
  return way;
}

}  // namespace

InstructionSet OrderedByDonation(const hlo::Module& module) {
  InstructionSet ordered;
  const std::vector<hlo::OutputAlias> aliases = hlo::OutputAliases(module);
  if (aliases.empty()) return ordered;
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  const std::vector<Instruction*> order = module.entry()->PostOrder();
  for (const hlo::OutputAlias& alias : aliases) {
    if (alias.parameter < 0 || alias.parameter >= static_cast<int64_t>(parameters.size())) continue;
    const InstructionSet memory = SameMemory(*parameters[alias.parameter]);
    const Instruction* writer = Writer(*module.entry()->root(), alias.output);
    if (writer != nullptr && memory.contains(writer)) continue;  // handed back as it is
    const InstructionSet way = WayToWriter(writer, order);
    for (const Instruction* value : memory) {
      for (const Instruction* reader : value->users()) {
        if (memory.contains(reader)) continue;
        const bool in_place = way.contains(reader) && SamePlaces(value->shape(), reader->shape());
        ordered.insert(in_place ? writer : reader);
      }
    }
  }
  return ordered;
}

InstructionSet DonatedValues(const hlo::Module& module) {
  InstructionSet values;
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  for (const hlo::OutputAlias& alias : hlo::OutputAliases(module)) {
    if (alias.parameter < 0 || alias.parameter >= static_cast<int64_t>(parameters.size())) continue;
    const InstructionSet memory = SameMemory(*parameters[alias.parameter]);
    if (!memory.contains(Writer(*module.entry()->root(), alias.output))) values.insert(memory.begin(), memory.end());
  }
  return values;
}

}  // namespace smelt::xla
