// Opcodes on arrays whose sizes are known only at run time. XLA rewrites such programs to static ones before it runs
// them (DynamicDimensionInference and DynamicPadder); here most handlers simply run on arrays of the sizes that there
// are, and the result goes to the front of an array of its bounds.
//
// What XLA decides otherwise: slices and start indices are those of the bounds, and a slice that does not take all of a
// dimension has a static size.
#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/strided_copy.h"
#include "hlo/shape_inference/shape_inference.h"

namespace smelt::hlo {
namespace {

using Sizes = std::vector<int64_t>;

const Sizes& SizesOf(const Value& value) {
  return value.runtime_sizes() != nullptr ? *value.runtime_sizes() : value.shape().dimensions;
}

int64_t Product(const Sizes& sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

// The first `sizes` elements of each dimension, as an array of those sizes.
absl::StatusOr<Value> Shrunk(Evaluation& evaluation, const Value& value, const Sizes& sizes) {
  if (value.runtime_sizes() == nullptr && sizes == value.shape().dimensions) return value;
  const Shape& bounds = value.shape();
  const Shape actual = Shape::Array(bounds.element_type, sizes);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, evaluation.NewArray(actual));
  RunStridedCopy({sizes, bounds.Strides(), actual.Strides()}, StorageBytes(bounds.element_type), value.array().raw(),
                 result->raw());
  return Value(std::move(result));
}

// The way back: at the front of an array of `bounds`, zeros beyond.
absl::StatusOr<Value> Grown(Evaluation& evaluation, const Value& value, const Shape& bounds) {
  if (value.IsTuple()) {
    std::vector<Value> elements;
    for (size_t i = 0; i < value.elements().size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(Value element, Grown(evaluation, value.elements()[i], bounds.tuple_shapes[i]));
      elements.push_back(std::move(element));
    }
    return Value(std::move(elements));
  }
  const Shape& actual = value.shape();
  if (actual.dimensions == bounds.dimensions) return value;
  for (int64_t d = 0; d < actual.rank(); ++d) {
    if (actual.dimensions[d] <= bounds.dimensions[d]) continue;
    return absl::InvalidArgumentError(StrCat("the result has size ", actual.dimensions[d], " in dimension ", d,
                                             ", whose bound is ", bounds.dimensions[d]));
  }
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, evaluation.NewZeroArray(bounds));
  RunStridedCopy({actual.dimensions, actual.Strides(), bounds.Strides()}, StorageBytes(bounds.element_type),
                 value.array().raw(), result->raw());
  Value grown(std::move(result));
  grown.set_runtime_sizes(actual.dimensions);
  return grown;
}

void TakeSmaller(Sizes& a, size_t i, Sizes& b, size_t j) { a[i] = b[j] = std::min(a[i], b[j]); }

// Dimensions of several operands that are one and the same: of a static and a dynamic one, the part that both have.
void Unify(const Instruction& instruction, std::vector<Sizes>& sizes) {
  if (instruction.opcode() == Opcode::kDot) {
    const auto& dot = instruction.attributes<DotAttributes>();
    for (size_t i = 0; i < dot.lhs_contracting.size(); ++i)
      TakeSmaller(sizes[0], dot.lhs_contracting[i], sizes[1], dot.rhs_contracting[i]);
    for (size_t i = 0; i < dot.lhs_batch.size(); ++i)
      TakeSmaller(sizes[0], dot.lhs_batch[i], sizes[1], dot.rhs_batch[i]);
    return;
  }
  int64_t apart = -1;  // a dimension that each operand has for itself
  if (instruction.opcode() == Opcode::kConcatenate)
    apart = instruction.attributes<DimensionsAttributes>().dimensions[0];
  Sizes least = sizes[0];
  const auto same_rank = [&](const Sizes& other) { return other.size() == least.size(); };
  for (const Sizes& other : sizes) {
    for (size_t d = 0; same_rank(other) && d < least.size(); ++d) least[d] = std::min(least[d], other[d]);
  }
  for (Sizes& other : sizes) {
    for (size_t d = 0; same_rank(other) && d < least.size(); ++d) {
      if (static_cast<int64_t>(d) != apart) other[d] = least[d];
    }
  }
}

// Whether operands of an opcode have dimensions in common.
bool HasCommonDimensions(Opcode opcode) {
  switch (opcode) {
    case Opcode::kDot:
    case Opcode::kConcatenate:
    case Opcode::kSort:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return true;
    default:
      return false;
  }
}

// The shape of the result at the sizes of the operands, which are parameters of these.
absl::StatusOr<Shape> ActualShape(const Instruction& instruction, const std::vector<Instruction*>& operands) {
  if (instruction.opcode() == Opcode::kBroadcast) {
    Shape shape = Shape::Array(instruction.shape().element_type, instruction.shape().dimensions);
    const std::vector<int64_t>& dimensions = instruction.attributes<DimensionsAttributes>().dimensions;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      // A dimension of size one may stand for any size.
      if (instruction.operand(0)->shape().dimensions[i] == 1) continue;
      shape.dimensions[dimensions[i]] = operands[0]->shape().dimensions[i];
    }
    return shape;
  }
  if (instruction.opcode() == Opcode::kBitcastConvert) {
    if (instruction.shape().rank() != operands[0]->shape().rank()) return absl::UnimplementedError("");
    return Shape::Array(instruction.shape().element_type, operands[0]->shape().dimensions);
  }
  return InferShape(instruction.opcode(), std::vector<const Instruction*>(operands.begin(), operands.end()),
                    instruction.all_attributes(), instruction.called());
}

absl::StatusOr<Value> RunShrunk(const Call& call) {
  const Instruction& instruction = call.instruction;
  std::vector<Sizes> sizes;
  for (const Value& operand : call.operands) sizes.push_back(SizesOf(operand));
  // Slices of a gather, and where they may start, are those of the bounds.
  if (instruction.opcode() == Opcode::kGather) sizes[0] = call.operand(0).shape().dimensions;
  if (HasCommonDimensions(instruction.opcode())) Unify(instruction, sizes);

  Module module("at_runtime_sizes");
  Computation* computation = module.AddComputation("entry");
  std::vector<Value> operands;
  std::vector<Instruction*> parameters;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (instruction.opcode() == Opcode::kGather && i == 0) {
      operands.push_back(call.operand(0));
    } else {
      SMELT_ASSIGN_OR_RETURN(Value operand, Shrunk(call.evaluation, call.operands[i], sizes[i]));
      operands.push_back(std::move(operand));
    }
    parameters.push_back(computation->Add(Opcode::kParameter,
                                          Shape::Array(call.operands[i].shape().element_type, sizes[i]), {},
                                          ParameterAttributes{static_cast<int64_t>(i)}));
  }
  const absl::StatusOr<Shape> shape = ActualShape(instruction, parameters);
  if (!shape.ok()) {
    return absl::UnimplementedError(StrCat("the evaluator does not run ", OpcodeName(instruction.opcode()),
                                           " on these arrays whose sizes are known only at run time",
                                           shape.status().message().empty() ? "" : ": ", shape.status().message()));
  }
  // Called computations stay where they are: the copy only points to them.
  const Instruction* actual =
      computation->Add(instruction.opcode(), *shape, parameters, instruction.all_attributes(), instruction.name(),
                       {instruction.called().begin(), instruction.called().end()});
  SMELT_ASSIGN_OR_RETURN(const Value result,
                         call.step.handler({call.evaluation, call.step, *actual, absl::MakeSpan(operands)}));
  SMELT_ASSIGN_OR_RETURN(Value grown, Grown(call.evaluation, result, instruction.shape()));
  if (instruction.opcode() == Opcode::kGather && call.operand(0).runtime_sizes() != nullptr) {
    // Slices of all of a dimension keep its size.
    const auto& gather = instruction.attributes<GatherAttributes>();
    Sizes kept = SizesOf(grown);
    size_t next = 0;
    for (int64_t d = 0; d < call.operand(0).shape().rank(); ++d) {
      const auto has = [d](const Sizes& list) { return std::find(list.begin(), list.end(), d) != list.end(); };
      if (has(gather.collapsed_slice_dims) || has(gather.operand_batching_dims)) continue;
      const int64_t to = gather.offset_dims[next++];
      if (gather.slice_sizes[d] == call.operand(0).shape().dimensions[d]) kept[to] = SizesOf(call.operand(0))[d];
    }
    if (kept != grown.shape().dimensions) grown.set_runtime_sizes(std::move(kept));
  }
  return grown;
}

// Slices are those of the bounds; only dimensions that are taken whole keep their size.
absl::StatusOr<Value> RunSlice(const Call& call) {
  const Sizes sizes = SizesOf(call.operand(0)), bounds = call.operand(0).shape().dimensions;
  SMELT_ASSIGN_OR_RETURN(Value result, call.step.handler(call));
  Sizes kept = result.shape().dimensions;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (kept[d] == bounds[d]) kept[d] = sizes[d];
  }
  if (kept != result.shape().dimensions) result.set_runtime_sizes(std::move(kept));
  return result;
}

// The update's elements within its sizes are written, where all of its bounds would have gone.
absl::StatusOr<Value> RunUpdate(const Call& call) {
  const Sizes sizes = SizesOf(call.operand(0));
  const Sizes bounds = call.operand(0).shape().dimensions, update_bounds = call.operand(1).shape().dimensions;
  const bool grows = call.operand(0).runtime_sizes() != nullptr;
  const Sizes update_sizes = SizesOf(call.operand(1));
  std::vector<Value> operands(call.operands.begin(), call.operands.end());
  SMELT_ASSIGN_OR_RETURN(operands[1], Shrunk(call.evaluation, operands[1], update_sizes));
  if (operands.size() != bounds.size() + 2) return absl::UnimplementedError("an update whose starts are one array");
  for (size_t d = 0; d < bounds.size(); ++d) {
    const Value& start = call.operands[d + 2];
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> clamped, call.evaluation.NewArray(start.shape()));
    clamped->SetInteger(0, ClampStart(ReadIndex(start.array(), 0), update_bounds[d], bounds[d]));
    operands[d + 2] = Value(std::move(clamped));
  }
  SMELT_ASSIGN_OR_RETURN(Value result,
                         call.step.handler({call.evaluation, call.step, call.instruction, absl::MakeSpan(operands)}));
  if (grows) result.set_runtime_sizes(sizes);
  return result;
}

// Sizes of a reshape's result, group of dimensions by group of dimensions with equal products of bounds: in a group
// with one dimension that is not 1, or one whose size the shape leaves open, that one has what the operand's sizes
// leave for it; else the outermost one.
absl::StatusOr<Sizes> ReshapedSizes(const Sizes& bounds, const Sizes& sizes, const Shape& to) {
  Sizes result = to.dimensions;
  size_t i = 0, j = 0;
  while (i < bounds.size() || j < result.size()) {
    size_t i_end = i, j_end = j;
    int64_t from = 1, into = 1, elements = 1;
    const auto take_from = [&] { from *= bounds[i_end], elements *= sizes[i_end], ++i_end; };
    const auto take_into = [&] { into *= result[j_end], ++j_end; };
    if (i_end < bounds.size()) take_from();
    if (j_end < result.size()) take_into();
    while (from != into && (i_end < bounds.size() || j_end < result.size())) {
      if (j_end == result.size() || (from < into && i_end < bounds.size())) {
        take_from();
      } else {
        take_into();
      }
    }
    if (elements != from) {
      int64_t open = -1, outermost = -1, dynamic = 0, wide = 0;
      for (size_t d = j; d < j_end; ++d) {
        if (result[d] != 1 && wide++ == 0) outermost = static_cast<int64_t>(d);
        if (!to.dynamic.empty() && to.dynamic[d] && dynamic++ == 0) open = static_cast<int64_t>(d);
      }
      if (dynamic != 1) open = outermost;
      const int64_t rest = open < 0 || result[open] == 0 ? 0 : into / result[open];
      if (rest == 0 || elements % rest != 0) {
        return absl::UnimplementedError(StrCat("the evaluator does not reshape ", elements,
                                               " elements, a size known only at run time, into ", to.ToString()));
      }
      result[open] = elements / rest;
    }
    i = i_end, j = j_end;
  }
  return result;
}

absl::StatusOr<Value> RunReshape(const Call& call) {
  const Value& operand = call.operand(0);
  const Shape& shape = call.shape();
  if (operand.shape().element_type != shape.element_type || !shape.HasDefaultLayout() ||
      !call.instruction.operand(0)->shape().HasDefaultLayout()) {
    return absl::UnimplementedError(
        "the evaluator does not run a bitcast to another type or layout on arrays whose "
        "size is known only at run time");
  }
  SMELT_ASSIGN_OR_RETURN(Sizes sizes, ReshapedSizes(operand.shape().dimensions, SizesOf(operand), shape));
  return WithSizes(call.evaluation, operand, shape, std::move(sizes));
}

}  // namespace

absl::StatusOr<Value> WithSizes(Evaluation& evaluation, const Value& value, const Shape& bounds, Sizes sizes) {
  if (Product(sizes) != Product(SizesOf(value))) {
    return absl::InvalidArgumentError(StrCat("reshapes ", Product(SizesOf(value)), " elements to ", Product(sizes)));
  }
  SMELT_ASSIGN_OR_RETURN(const Value packed, Shrunk(evaluation, value, SizesOf(value)));
  const int64_t bytes = StorageBytes(bounds.element_type);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, evaluation.NewZeroArray(bounds));
  RunStridedCopy({sizes, Shape::Array(bounds.element_type, sizes).Strides(), bounds.Strides()}, bytes,
                 packed.array().raw(), result->raw());
  Value reshaped(std::move(result));
  if (sizes != bounds.dimensions) reshaped.set_runtime_sizes(std::move(sizes));
  return reshaped;
}

absl::StatusOr<Value> RunAtRuntimeSizes(const Call& call) {
  switch (call.instruction.opcode()) {
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
    case Opcode::kBitcastConvert:
    case Opcode::kBroadcast:
    case Opcode::kCholesky:
    case Opcode::kConcatenate:
    case Opcode::kConvolution:
    case Opcode::kDot:
    case Opcode::kGather:
    case Opcode::kMap:
    case Opcode::kPad:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kReverse:
    case Opcode::kSelectAndScatter:
    case Opcode::kSort:
    case Opcode::kTranspose:
    case Opcode::kTriangularSolve:
      return RunShrunk(call);
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return RunReshape(call);
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      return RunSlice(call);
    case Opcode::kDynamicUpdateSlice:
      return RunUpdate(call);
    default:
      return absl::UnimplementedError(StrCat("the evaluator does not run ", OpcodeName(call.instruction.opcode()),
                                             " on arrays whose size is known only at run time"));
  }
}

}  // namespace smelt::hlo
