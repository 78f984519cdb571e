#include "fusion/instruction_hash.h"

#include <string>

#include "hlo/literal.h"
#include "hlo/raw_attribute.h"
#include "hlo/text/attribute_codec.h"

namespace smelt::fusion {
namespace {

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

Hash128 InstructionHasher::Parameter(const hlo::Shape& shape) const {
  Hasher hasher;
  hasher.Add("parameter");
  AddShape(hasher, shape, layouts_);
  return hasher.Finish();
}

Hash128 InstructionHasher::Local(const hlo::Instruction& instruction) {
  Hasher hasher;
  hasher.Add(hlo::OpcodeName(instruction.opcode()));
  const bool bitcast = instruction.opcode() == Opcode::kBitcast;
  AddShape(hasher, instruction.shape(), bitcast || layouts_);
  if (bitcast) AddShape(hasher, instruction.operand(0)->shape(), true);
  switch (instruction.opcode()) {
    case Opcode::kParameter:
      hasher.Add(instruction.attributes<hlo::ParameterAttributes>().number);
      break;
    case Opcode::kConstant:
      AddLiteral(hasher, instruction.literal());
      break;
    case Opcode::kFusion:
      break;
    default:
      AddAttributes(hasher, instruction);
  }
  // What a custom call means stands in attributes that Smelt only carries.
  for (const hlo::RawAttribute& raw : instruction.raw_attributes()) {
    if (hlo::ChangesMeaning(raw, instruction.opcode())) hasher.Add(raw.name).Add(raw.value);
  }
  for (const hlo::Computation* called : instruction.called()) hasher.Add(called_.Of(*called));
  return hasher.Finish();
}

}  // namespace smelt::fusion
