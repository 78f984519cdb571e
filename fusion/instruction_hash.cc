#include "fusion/instruction_hash.h"

#include <string>
#include <vector>

#include "hlo/literal.h"
#include "hlo/text/attribute_codec.h"

namespace smelt::fusion {
namespace {

using hlo::Hash128;
using hlo::Hasher;
using hlo::Opcode;

void AddShape(Hasher& hasher, const hlo::Shape& shape, bool layout) {
  hasher.Add(static_cast<int64_t>(shape.element_type));
  hasher.Add(static_cast<int64_t>(shape.dimensions.size()));
  for (int64_t d : shape.dimensions) hasher.Add(d);
  for (size_t i = 0; i < shape.dynamic.size(); ++i) {
    if (shape.dynamic[i]) hasher.Add(static_cast<int64_t>(i) + 1);
  }
  if (layout && !shape.HasDefaultLayout()) {
    for (int64_t d : shape.layout->minor_to_major) hasher.Add(d);
  }
  hasher.Add(static_cast<int64_t>(shape.tuple_shapes.size()));
  for (const hlo::Shape& element : shape.tuple_shapes) AddShape(hasher, element, layout);
}

void AddLiteral(Hasher& hasher, const hlo::Literal& literal) {
  AddShape(hasher, literal.shape(), false);
  if (literal.IsArray()) {
    hasher.Add(std::string_view(static_cast<const char*>(literal.raw()), static_cast<size_t>(literal.byte_size())));
  }
  for (const hlo::Literal& element : literal.elements()) AddLiteral(hasher, element);
}

// The text of the typed attributes. Called computations print as their position: what they do is hashed beside.
void AddAttributes(Hasher& hasher, const hlo::Instruction& instruction) {
  hlo::text::PrintedNames names;
  for (const hlo::Computation* called : instruction.called()) names.Number(*called);
  for (const hlo::text::AttributeRule& rule : hlo::text::AttributeRules(instruction.opcode())) {
    std::string value;
    const hlo::text::AttributePrinter printer{value, names};
    if (rule.print(printer, instruction, rule.presence)) hasher.Add(rule.name).Add(value);
  }
}

}  // namespace

Hash128 InstructionHasher::Parameter(const hlo::Shape& shape) {
  Hasher hasher;
  hasher.Add("parameter");
  AddShape(hasher, shape, false);
  return hasher.Finish();
}

Hash128 InstructionHasher::Alone(const hlo::Instruction& instruction) {
  Hasher hasher;
  hasher.Add(hlo::OpcodeName(instruction.opcode()));
  const bool bitcast = instruction.opcode() == Opcode::kBitcast;
  AddShape(hasher, instruction.shape(), bitcast);
  if (bitcast) AddShape(hasher, instruction.operand(0)->shape(), true);
  if (instruction.opcode() == Opcode::kParameter) {
    hasher.Add(instruction.attributes<hlo::ParameterAttributes>().number);
  } else if (instruction.opcode() == Opcode::kConstant) {
    AddLiteral(hasher, instruction.literal());
  } else if (instruction.opcode() != Opcode::kFusion) {
    AddAttributes(hasher, instruction);
  }
  // What a custom call means stands in attributes that Smelt only carries.
  if (instruction.opcode() == Opcode::kCustomCall) {
    for (const hlo::RawAttribute& raw : instruction.raw_attributes()) {
      if (raw.name != "metadata") hasher.Add(raw.name).Add(raw.value);
    }
  }
  return hasher.Finish();
}

Hash128 InstructionHasher::Local(const hlo::Instruction& instruction) {
  const Hash128 alone = Alone(instruction);
  if (instruction.called().empty()) return alone;
  Hasher hasher;
  hasher.Add(alone);
  for (const hlo::Computation* called : instruction.called()) hasher.Add(Computation(*called));
  return hasher.Finish();
}

// Callees first with a stack of our own: calls nest as deeply as a user writes them.
Hash128 InstructionHasher::Computation(const hlo::Computation& computation) {
  std::vector<const hlo::Computation*> stack = {&computation};
  while (!stack.empty()) {
    const hlo::Computation* top = stack.back();
    if (computations_.contains(top)) {
      stack.pop_back();
      continue;
    }
    const size_t size = stack.size();
    for (const hlo::Instruction* instruction : top->Instructions()) {
      for (const hlo::Computation* called : instruction->called()) {
        if (!computations_.contains(called)) stack.push_back(called);
      }
    }
    if (stack.size() > size) continue;
    const Hash128 hash = Body(*top);
    computations_.emplace(top, hash);
    stack.pop_back();
  }
  return computations_.at(&computation);
}

// In the order in which the root needs the instructions, so that the order of the text does not count.
Hash128 InstructionHasher::Body(const hlo::Computation& computation) {
  Hasher hasher;
  absl::flat_hash_map<const hlo::Instruction*, int64_t> numbers;
  struct Frame {
    const hlo::Instruction* instruction;
    int64_t next = 0;
  };
  std::vector<Frame> stack;
  int64_t count = 0;
  const auto visit = [&](const hlo::Instruction* root) {
    if (!numbers.emplace(root, -1).second) return;
    stack.push_back({root});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const hlo::Instruction* instruction = frame.instruction;
      if (frame.next < instruction->operand_count()) {
        const hlo::Instruction* operand = instruction->operand(frame.next++);
        if (numbers.emplace(operand, -1).second) stack.push_back({operand});
        continue;
      }
      stack.pop_back();
      hasher.Add(Alone(*instruction));
      for (const hlo::Computation* called : instruction->called()) hasher.Add(computations_.at(called));
      for (const hlo::Instruction* operand : instruction->operands()) hasher.Add(numbers.at(operand));
      numbers[instruction] = count++;
    }
  };
  visit(computation.root());
  hasher.Add(numbers.at(computation.root()));
  // What the root does not reach but has an effect still counts.
  for (const hlo::Instruction* instruction : computation.PostOrder()) {
    if (!numbers.contains(instruction) && instruction->HasSideEffect()) visit(instruction);
  }
  return hasher.Finish();
}

}  // namespace smelt::fusion
