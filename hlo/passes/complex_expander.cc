#include "hlo/passes/complex_expander.h"

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

PrimitiveType PartOf(PrimitiveType complex) {
  return complex == PrimitiveType::kC128 ? PrimitiveType::kF64 : PrimitiveType::kF32;
}

struct Parts {
  Instruction *real, *imag;
};

class Expansion {
 public:
  explicit Expansion(Instruction& original)
      : original_(original),
        build_(original),
        part_(Shape::Array(PartOf(original.shape().element_type), original.shape().dimensions)) {}

  Instruction* Dot() {
    const Parts a = PartsOf(*original_.operand(0)), b = PartsOf(*original_.operand(1));
    const auto dot = [&](Instruction* x, Instruction* y) {
      return build_.Add(Opcode::kDot, part_, {x, y}, original_.attributes<DotAttributes>());
    };
    return Join(build_.Binary(Opcode::kSubtract, dot(a.real, b.real), dot(a.imag, b.imag)),
                build_.Binary(Opcode::kAdd, dot(a.real, b.imag), dot(a.imag, b.real)));
  }

  Instruction* Sum() {
    const Parts x = PartsOf(*original_.operand(0)), init = PartsOf(*original_.operand(1));
    Computation* adder = AddBinaryComputation(*original_.parent()->parent(), Opcode::kAdd, part_.element_type);
    const std::vector<int64_t>& dimensions = original_.attributes<DimensionsAttributes>().dimensions;
    return Join(build_.Reduce(x.real, init.real, dimensions, adder),
                build_.Reduce(x.imag, init.imag, dimensions, adder));
  }

 private:
  Parts PartsOf(Instruction& x) {
    const Shape shape = Shape::Array(part_.element_type, x.shape().dimensions);
    return {build_.Add(Opcode::kReal, shape, {&x}), build_.Add(Opcode::kImag, shape, {&x})};
  }
  Instruction* Join(Instruction* real, Instruction* imag) {
    return build_.Add(Opcode::kComplex, Shape::Array(original_.shape().element_type, part_.dimensions), {real, imag});
  }

  Instruction& original_;
  GraphBuilder build_;
  const Shape part_;  // of one part of the result
};

Instruction* Expand(Instruction& instruction) {
  const Shape& shape = instruction.shape();
  if (!shape.IsArray() || !IsComplex(shape.element_type) || shape.IsDynamic()) return nullptr;
  for (const Instruction* operand : instruction.operands()) {
    if (operand->shape().element_type != shape.element_type || operand->shape().IsDynamic()) return nullptr;
  }
  switch (instruction.opcode()) {
    case Opcode::kDot:
      return Expansion(instruction).Dot();
    case Opcode::kReduce:
      if (BinaryOperation(*instruction.called(0)) != Opcode::kAdd) return nullptr;
      return Expansion(instruction).Sum();
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<bool> ExpandComplex(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (instruction->HasControlEdges()) continue;
      Instruction* expanded = Expand(*instruction);
      if (expanded == nullptr || !Replace(*instruction, expanded)) continue;
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
