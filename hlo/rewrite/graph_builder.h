// Adds instructions in place of another one: what rewrite rules build with.
//
//   GraphBuilder build(instruction);                       // new instructions go beside `instruction`
//   Instruction* half = build.BroadcastScalar(build.Scalar(PrimitiveType::kF32, 0.5), instruction.shape());
//   Replace(instruction, build.Binary(Opcode::kMultiply, x, half));
//
// New instructions inherit the metadata of the one they stand for, so that a user still finds the source line. Shapes
// are computed here, without layouts.
#pragma once

#include <optional>
#include <vector>

#include "hlo/computation.h"
#include "hlo/literal.h"

namespace smelt::hlo {

class GraphBuilder {
 public:
  explicit GraphBuilder(Instruction& original) : computation_(*original.parent()), original_(&original) {}
  explicit GraphBuilder(Computation& computation) : computation_(computation) {}

  Computation& computation() { return computation_; }

  Instruction* Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes = {},
                   std::vector<Computation*> called = {});
  Instruction* Constant(Literal literal);
  Instruction* Scalar(PrimitiveType type, double value);

  // Elementwise, with the shape of the first operand; Compare gives pred.
  Instruction* Unary(Opcode opcode, Instruction* x) { return Add(opcode, PlainShape(*x), {x}); }
  Instruction* Binary(Opcode opcode, Instruction* x, Instruction* y) { return Add(opcode, PlainShape(*x), {x, y}); }
  Instruction* Compare(Instruction* x, Instruction* y, CompareAttributes attributes);
  Instruction* Select(Instruction* predicate, Instruction* on_true, Instruction* on_false);
  // The argument itself where nothing changes.
  Instruction* Convert(Instruction* x, PrimitiveType type);
  Instruction* Reshape(Instruction* x, std::vector<int64_t> dimensions);
  Instruction* Transpose(Instruction* x, std::vector<int64_t> permutation);
  // x's dimension i becomes dimension mapping[i] of the result.
  Instruction* Broadcast(Instruction* x, const std::vector<int64_t>& dimensions, std::vector<int64_t> mapping);
  // A scalar to every element of the shape (its type is the scalar's).
  Instruction* BroadcastScalar(Instruction* scalar, const Shape& shape);
  Instruction* Slice(Instruction* x, std::vector<SliceDimension> dimensions);
  Instruction* Reduce(Instruction* x, Instruction* init, std::vector<int64_t> dimensions, Computation* reducer);
  Instruction* Tuple(std::vector<Instruction*> elements);
  Instruction* GetTupleElement(Instruction* tuple, int64_t index);

  // Instructions added so far, in order.
  const std::vector<Instruction*>& added() const { return added_; }

 private:
  static Shape PlainShape(const Instruction& x) { return Shape::Array(x.shape().element_type, x.shape().dimensions); }

  Computation& computation_;
  Instruction* original_ = nullptr;
  std::vector<Instruction*> added_;
};

// Physical order of the dimensions: what the layout says, or the default.
bool SameLayout(const Shape& a, const Shape& b);

// Whether every user may read `replacement` instead of `instruction`: equal types and dimensions, no control
// dependencies, and an equal layout where a user (a bitcast, a caller, the outside) sees the layout.
bool CanReplace(const Instruction& instruction, const Instruction& replacement);

// ReplaceAllUsesWith where CanReplace; false, and nothing done, where not.
bool Replace(Instruction& instruction, Instruction* replacement);

// Removes the instruction and then every operand that is left without a use, for as long as that goes on. Keeps
// parameters, roots, control dependencies and, for the dead code pass to judge, what calls computations.
// `removed`, where given, receives the ids of what went.
void RemoveIfDead(Instruction* instruction, std::vector<int64_t>* removed = nullptr);

// Replaces and removes an instruction whose work `successor` does, which takes its name: so people find it again.
// `replacement` is made from the successor, or is that itself. False, and nothing done, where it cannot be replaced.
bool ReplaceKeepingName(Instruction& instruction, Instruction* successor, Instruction* replacement);

// The metadata attributes (op_name, source lines) of an instruction.
std::vector<RawAttribute> MetadataOf(const Instruction& instruction);

// The one binary operation that a computation of two scalar parameters applies to them in either order, as in the
// reducer of a sum; absent for anything else.
std::optional<Opcode> BinaryOperation(const Computation& computation);
// A computation (lhs, rhs) -> opcode(lhs, rhs) on scalars of the type.
Computation* AddBinaryComputation(Module& module, Opcode opcode, PrimitiveType type);

}  // namespace smelt::hlo
