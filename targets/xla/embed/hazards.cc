#include "targets/xla/embed/hazards.h"

#include <algorithm>
#include <vector>

#include "targets/xla/donation.h"
#include "targets/xla/loop_rules.h"

namespace smelt::embed {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Whether the result may be written in the memory of an operand: an update of a part.
bool Updates(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kFusion) return true;
  const std::vector<Instruction*> body = instruction.called(0)->Instructions();
  return std::any_of(body.begin(), body.end(), [](const Instruction* inside) {
    return inside->opcode() == Opcode::kDynamicUpdateSlice || inside->opcode() == Opcode::kScatter;
  });
}

// Whether the value, or something in its memory, leaves its computation or becomes the state of a loop.
bool Leaves(const Instruction& value) {
  absl::flat_hash_set<const Instruction*> seen;
  std::vector<const Instruction*> stack = {&value};
  while (!stack.empty()) {
    const Instruction* at = stack.back();
    stack.pop_back();
    if (!seen.insert(at).second) continue;
    if (at->IsRoot()) return true;
    for (const Instruction* user : at->users()) {
      switch (user->opcode()) {
        case Opcode::kWhile:
        case Opcode::kConditional:
        case Opcode::kCall:
        case Opcode::kCustomCall:
        case Opcode::kAsyncStart:
          return true;
        case Opcode::kBitcast:
        case Opcode::kTuple:
        case Opcode::kGetTupleElement:
        case Opcode::kOptimizationBarrier:
          stack.push_back(user);
          break;
        case Opcode::kFusion:
        case Opcode::kDynamicUpdateSlice:
        case Opcode::kScatter:
          if (Updates(*user)) stack.push_back(user);
          break;
        default:
          break;
      }
    }
  }
  return false;
}

}  // namespace

InPlaceHazards::InPlaceHazards(const hlo::Module& module) : overwritten_(xla::OverwrittenValues(module)) {
  for (const Instruction* value : xla::DonatedValues(module)) overwritten_.insert(value);
}

bool InPlaceHazards::Has(const Instruction& instruction) const {
  const auto operands = instruction.operands();
  const bool reads = std::any_of(operands.begin(), operands.end(),
                                 [&](const Instruction* operand) { return overwritten_.contains(operand); });
  return reads && Leaves(instruction);
}

}  // namespace smelt::embed
