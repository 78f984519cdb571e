#include "hlo/rewrite/graph_builder.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/str_cat.h"
#include "hlo/module.h"
#include "hlo/rewrite/constants.h"

namespace smelt::hlo {

Instruction* GraphBuilder::Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                               std::vector<Computation*> called) {
  Instruction* instruction =
      computation_.Add(opcode, std::move(shape), std::move(operands), std::move(attributes), "", std::move(called));
  if (original_ != nullptr) instruction->raw_attributes() = MetadataOf(*original_);
  added_.push_back(instruction);
  return instruction;
}

Instruction* GraphBuilder::Constant(Literal literal) {
  Shape shape = literal.shape();
  return Add(Opcode::kConstant, std::move(shape), {},
             ConstantAttributes{std::make_shared<const Literal>(std::move(literal))});
}

Instruction* GraphBuilder::Scalar(PrimitiveType type, double value) { return Constant(ScalarLiteral(type, value)); }

Instruction* GraphBuilder::Compare(Instruction* x, Instruction* y, CompareAttributes attributes) {
  return Add(Opcode::kCompare, Shape::Array(PrimitiveType::kPred, x->shape().dimensions), {x, y}, attributes);
}

Instruction* GraphBuilder::Select(Instruction* predicate, Instruction* on_true, Instruction* on_false) {
  return Add(Opcode::kSelect, PlainShape(*on_true), {predicate, on_true, on_false});
}

Instruction* GraphBuilder::Convert(Instruction* x, PrimitiveType type) {
  if (x->shape().element_type == type) return x;
  return Add(Opcode::kConvert, Shape::Array(type, x->shape().dimensions), {x});
}

Instruction* GraphBuilder::Reshape(Instruction* x, std::vector<int64_t> dimensions) {
  if (x->shape().dimensions == dimensions) return x;
  return Add(Opcode::kReshape, Shape::Array(x->shape().element_type, std::move(dimensions)), {x});
}

Instruction* GraphBuilder::Transpose(Instruction* x, std::vector<int64_t> permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return x;
  std::vector<int64_t> dimensions;
  for (int64_t from : permutation) dimensions.push_back(x->shape().dimensions[from]);
  return Add(Opcode::kTranspose, Shape::Array(x->shape().element_type, std::move(dimensions)), {x},
             DimensionsAttributes{std::move(permutation)});
}

Instruction* GraphBuilder::Broadcast(Instruction* x, const std::vector<int64_t>& dimensions,
                                     std::vector<int64_t> mapping) {
  if (x->shape().dimensions == dimensions && std::is_sorted(mapping.begin(), mapping.end())) return x;
  return Add(Opcode::kBroadcast, Shape::Array(x->shape().element_type, dimensions), {x},
             DimensionsAttributes{std::move(mapping)});
}

Instruction* GraphBuilder::BroadcastScalar(Instruction* scalar, const Shape& shape) {
  return Broadcast(scalar, shape.dimensions, {});
}

Instruction* GraphBuilder::Slice(Instruction* x, std::vector<SliceDimension> slice) {
  std::vector<int64_t> dimensions;
  for (const SliceDimension& d : slice) dimensions.push_back((d.limit - d.start + d.stride - 1) / d.stride);
  if (dimensions == x->shape().dimensions) return x;
  return Add(Opcode::kSlice, Shape::Array(x->shape().element_type, std::move(dimensions)), {x},
             SliceAttributes{std::move(slice)});
}

Instruction* GraphBuilder::Reduce(Instruction* x, Instruction* init, std::vector<int64_t> dimensions,
                                  Computation* reducer) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < x->shape().rank(); ++i) {
    if (std::find(dimensions.begin(), dimensions.end(), i) == dimensions.end()) {
      kept.push_back(x->shape().dimensions[i]);
    }
  }
  return Add(Opcode::kReduce, Shape::Array(x->shape().element_type, std::move(kept)), {x, init},
             DimensionsAttributes{std::move(dimensions)}, {reducer});
}

Instruction* GraphBuilder::Tuple(std::vector<Instruction*> elements) {
  std::vector<Shape> shapes;
  for (const Instruction* element : elements) shapes.push_back(element->shape());
  return Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), std::move(elements));
}

Instruction* GraphBuilder::GetTupleElement(Instruction* tuple, int64_t index) {
  return Add(Opcode::kGetTupleElement, tuple->shape().tuple_shapes[index], {tuple}, TupleIndexAttributes{index});
}

std::vector<RawAttribute> MetadataOf(const Instruction& instruction) {
  std::vector<RawAttribute> metadata;
  for (const RawAttribute& attribute : instruction.raw_attributes()) {
    if (attribute.name == "metadata") metadata.push_back(attribute);
  }
  return metadata;
}

bool SameLayout(const Shape& a, const Shape& b) {
  if (a.IsTuple() || b.IsTuple()) {
    if (a.tuple_shapes.size() != b.tuple_shapes.size()) return false;
    std::vector<const Shape*> a_leaves, b_leaves;
    a.AppendLeaves(&a_leaves);
    b.AppendLeaves(&b_leaves);
    return std::equal(a_leaves.begin(), a_leaves.end(), b_leaves.begin(), b_leaves.end(),
                      [](const Shape* x, const Shape* y) { return SameLayout(*x, *y); });
  }
  if (a.layout == b.layout) return true;
  if ((a.layout && !a.layout->tiles.empty()) || (b.layout && !b.layout->tiles.empty())) return false;
  if (a.HasDefaultLayout() && b.HasDefaultLayout()) return true;
  return a.layout && b.layout && a.layout->minor_to_major == b.layout->minor_to_major;
}

namespace {

// Opcodes that see how a value lies in memory, or hand it to something that does.
bool SeesLayout(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
    case Opcode::kTuple:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCustomCall:
    case Opcode::kAsyncStart:
    case Opcode::kOutfeed:
    case Opcode::kSend:
    case Opcode::kOptimizationBarrier:
      return true;
    default:
      return GetOpcodeInfo(opcode).category == OpcodeCategory::kCollective;
  }
}

bool LayoutIsSeen(const Instruction& instruction) {
  if (instruction.IsRoot()) return true;
  return std::any_of(instruction.users().begin(), instruction.users().end(),
                     [](const Instruction* user) { return SeesLayout(user->opcode()); });
}

// No side effect by its opcode alone. What calls other computations is left to the pass that looks through them all.
bool IsPlainlyPure(const Instruction& instruction) {
  return !HasFlag(instruction.opcode(), kSideEffect) &&
         (instruction.called().empty() || instruction.opcode() == Opcode::kReduce) &&
         instruction.opcode() != Opcode::kCustomCall;
}

}  // namespace

bool CanReplace(const Instruction& instruction, const Instruction& replacement) {
  if (!instruction.shape().SameAs(replacement.shape()) || instruction.HasControlEdges()) return false;
  return SameLayout(instruction.shape(), replacement.shape()) || !LayoutIsSeen(instruction);
}

bool Replace(Instruction& instruction, Instruction* replacement) {
  if (&instruction == replacement || !CanReplace(instruction, *replacement)) return false;
  instruction.ReplaceAllUsesWith(replacement);
  return true;
}

void RemoveIfDead(Instruction* instruction, std::vector<int64_t>* removed) {
  std::vector<Instruction*> open = {instruction};
  while (!open.empty()) {
    Instruction* dead = open.back();
    open.pop_back();
    if (dead->user_count() > 0 || dead->IsRoot() || dead->opcode() == Opcode::kParameter) continue;
    if (dead->HasControlEdges() || !IsPlainlyPure(*dead)) continue;
    std::vector<Instruction*> operands;
    for (Instruction* operand : dead->operands()) {
      if (std::find(operands.begin(), operands.end(), operand) == operands.end()) operands.push_back(operand);
    }
    if (removed != nullptr) removed->push_back(dead->id());
    dead->parent()->Remove(dead);
    for (Instruction* operand : operands) {
      if (operand->user_count() == 0) open.push_back(operand);  // once: when its last user goes
    }
  }
}

bool ReplaceKeepingName(Instruction& instruction, Instruction* successor, Instruction* replacement) {
  const std::string name = instruction.name();
  if (!Replace(instruction, replacement)) return false;
  RemoveIfDead(&instruction);
  successor->parent()->Rename(successor, name);
  return true;
}

std::optional<Opcode> BinaryOperation(const Computation& computation) {
  const Instruction* root = computation.root();
  if (root == nullptr || GetOpcodeInfo(root->opcode()).category != OpcodeCategory::kElementwiseBinary) {
    return std::nullopt;
  }
  if (root->opcode() == Opcode::kCompare) return std::nullopt;
  const Instruction* lhs = root->operand(0);
  const Instruction* rhs = root->operand(1);
  if (lhs->opcode() != Opcode::kParameter || rhs->opcode() != Opcode::kParameter || lhs == rhs) return std::nullopt;
  if (!root->shape().IsScalar() || !lhs->shape().SameAs(root->shape())) return std::nullopt;
  if (!HasFlag(root->opcode(), kCommutative) && lhs->attributes<ParameterAttributes>().number != 0) return std::nullopt;
  return root->opcode();
}

Computation* AddBinaryComputation(Module& module, Opcode opcode, PrimitiveType type) {
  Computation* computation = module.AddComputation(StrCat(OpcodeName(opcode), "_", PrimitiveTypeName(type)));
  const Shape scalar = Shape::Scalar(type);
  Instruction* lhs = computation->Add(Opcode::kParameter, scalar, {}, ParameterAttributes{0}, "lhs");
  Instruction* rhs = computation->Add(Opcode::kParameter, scalar, {}, ParameterAttributes{1}, "rhs");
  computation->set_root(computation->Add(opcode, scalar, {lhs, rhs}));
  return computation;
}

}  // namespace smelt::hlo
