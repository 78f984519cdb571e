// Loops, branches and calls, with computations of their own.
#include <algorithm>

#include "fuzz/generate/rules.h"
#include "hlo/attribute_family.h"

namespace smelt::fuzz {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using enum hlo::Opcode;

// What a loop's values may grow to: they come back as its arguments.
constexpr double kLoopBound = 2;

std::vector<Value> AnyValues(Draft& draft, int64_t most) {
  std::vector<Value> values;
  for (int64_t count = draft.random.Between(1, most); count > 0; --count) values.push_back(draft.Any(AnyElement));
  return values;
}

// The last value of that shape, or whatever makes one.
Value Finish(Draft& draft, const Shape& shape) {
  for (auto value = draft.values().rbegin(); value != draft.values().rend(); ++value) {
    if (value->shape().SameAs(shape)) return *value;
  }
  return draft.OfShape(shape);
}

// A tuple argument, taken apart: what is known of each element comes from the caller.
std::vector<Value> TakeArgument(Draft& draft, const std::vector<Value>& elements) {
  std::vector<Shape> shapes;
  for (const Value& element : elements) shapes.push_back(Shape::Array(element.type(), element.shape().dimensions));
  const Value tuple = draft.AddArgument(Shape::Tuple(std::move(shapes)), true, 0);
  std::vector<Value> taken;
  for (size_t i = 0; i < elements.size(); ++i) {
    const Shape shape = tuple.shape().tuple_shapes[i];
    hlo::Instruction* element = draft.computation().Add(kGetTupleElement, shape, {tuple.instruction},
                                                        hlo::TupleIndexAttributes{static_cast<int64_t>(i)});
    taken.push_back({element, elements[i].exact, elements[i].magnitude});
    draft.Take(taken.back());
  }
  return taken;
}

// state = (counter, values...); while (counter < trips) state = (counter + 1, body(values)...)
bool AddWhile(Draft& draft, Opcode opcode) {
  std::vector<Value> state = {draft.Constant(PrimitiveType::kS32, 0)};
  for (const Value& value : AnyValues(draft, 3)) {
    if (value.type() != PrimitiveType::kF8E8M0FNU) state.push_back(draft.Bounded(value, kLoopBound));
  }
  // Floats are exact in the first round only.
  std::vector<Value> arguments = state;
  for (Value& argument : arguments) {
    if (!BitsElement(argument.type())) argument = {argument.instruction, false, kLoopBound};
  }
  hlo::Computation* body = draft.module().AddComputation("body");
  Draft inside(*body, draft.random, draft.palette, draft.depth + 1);
  const std::vector<Value> taken = TakeArgument(inside, arguments);
  Grow(inside, draft.random.Between(1, 4));
  hlo::Instruction* one = inside.Constant(PrimitiveType::kS32, 1).instruction;
  std::vector<Value> next = {
      {body->Add(kAdd, Shape::Scalar(PrimitiveType::kS32), {taken[0].instruction, one}), true, 8}};
  for (size_t i = 1; i < state.size(); ++i) {
    next.push_back(
        inside.Bounded(Finish(inside, Shape::Array(state[i].type(), state[i].shape().dimensions)), kLoopBound));
  }
  body->set_root(inside.Tuple(next).instruction);

  hlo::Computation* condition = draft.module().AddComputation("condition");
  Draft test(*condition, draft.random, draft.palette, draft.depth + 1);
  const Value counter = TakeArgument(test, arguments)[0];
  const Value trips = test.Constant(PrimitiveType::kS32, static_cast<double>(draft.random.Between(0, 4)));
  condition->set_root(condition->Add(kCompare, Shape::Scalar(PrimitiveType::kPred),
                                     {counter.instruction, trips.instruction},
                                     hlo::CompareAttributes{hlo::ComparisonDirection::kLt, {}}));
  Value initial = draft.Tuple(state);
  draft.KeepShaped(opcode, initial.shape(), {initial}, {}, false, kLoopBound, {body, condition});
  return true;
}

bool AddConditional(Draft& draft, Opcode opcode) {
  const bool predicate = draft.random.Chance(0.5);
  const int64_t branches = predicate ? 2 : draft.random.Between(1, 3);
  std::vector<Value> operands = {draft.Scalar(predicate ? PrimitiveType::kPred : PrimitiveType::kS32)};
  std::vector<Shape> results;
  for (const Value& value : AnyValues(draft, 2))
    results.push_back(Shape::Array(value.type(), value.shape().dimensions));
  const bool tuple = results.size() > 1 || draft.random.Chance(0.2);
  std::vector<hlo::Computation*> called;
  bool exact = true;
  double magnitude = 0;
  for (int64_t b = 0; b < branches; ++b) {
    const std::vector<Value> arguments = AnyValues(draft, 2);
    hlo::Computation* branch = draft.module().AddComputation("branch");
    Draft inside(*branch, draft.random, draft.palette, draft.depth + 1);
    if (arguments.size() == 1) {
      inside.AddArgument(Shape::Array(arguments[0].type(), arguments[0].shape().dimensions), arguments[0].exact,
                         arguments[0].magnitude);
      operands.push_back(arguments[0]);
    } else {
      TakeArgument(inside, arguments);
      operands.push_back(draft.Tuple(arguments));
    }
    Grow(inside, draft.random.Between(1, 3));
    std::vector<Value> values;
    for (const Shape& shape : results) values.push_back(Finish(inside, shape));
    exact = exact && AllExact(values);
    magnitude = std::max(magnitude, LargestMagnitude(values));
    branch->set_root(tuple ? inside.Tuple(values).instruction : values[0].instruction);
    called.push_back(branch);
  }
  draft.Keep(opcode, operands, hlo::ConditionalAttributes{predicate && draft.random.Chance(0.5)}, exact, magnitude,
             called);
  return true;
}

bool AddCall(Draft& draft, Opcode opcode) {
  const std::vector<Value> arguments = AnyValues(draft, 3);
  hlo::Computation* callee = draft.module().AddComputation("callee");
  Draft inside(*callee, draft.random, draft.palette, draft.depth + 1);
  for (const Value& argument : arguments) {
    inside.AddArgument(Shape::Array(argument.type(), argument.shape().dimensions), argument.exact, argument.magnitude);
  }
  Grow(inside, draft.random.Between(1, 4));
  std::vector<Value> results = {inside.values().back()};
  if (draft.random.Chance(0.3)) results.push_back(draft.random.Pick(inside.values()));
  callee->set_root(results.size() == 1 ? results[0].instruction : inside.Tuple(results).instruction);
  draft.Keep(opcode, arguments, {}, AllExact(results), LargestMagnitude(results), {callee});
  return true;
}

// Work that begins at one instruction and whose result another one takes: ((operands), result, contexts).
bool AddAsync(Draft& draft, Opcode opcode) {
  const std::vector<Value> arguments = AnyValues(draft, 2);
  hlo::Computation* callee = draft.module().AddComputation("async");
  Draft inside(*callee, draft.random, draft.palette, draft.depth + 1);
  std::vector<Shape> operands;
  for (const Value& argument : arguments) {
    operands.push_back(Shape::Array(argument.type(), argument.shape().dimensions));
    inside.AddArgument(operands.back(), argument.exact, argument.magnitude);
  }
  Grow(inside, draft.random.Between(1, 3));
  const Value result = inside.values().back();
  callee->set_root(result.instruction);
  std::vector<Shape> parts = {Shape::Tuple(operands), result.shape()};
  if (draft.random.Chance(0.5)) parts.push_back(Shape::Scalar(PrimitiveType::kU32));
  const Shape shape = Shape::Tuple(std::move(parts));
  hlo::Instruction* chain =
      draft.computation().Add(opcode, shape, Instructions(arguments), hlo::EmptyAttributes(opcode), "", {callee});
  if (draft.random.Chance(0.4)) {
    chain = draft.computation().Add(kAsyncUpdate, shape, {chain}, hlo::EmptyAttributes(kAsyncUpdate), "", {callee});
  }
  draft.KeepShaped(kAsyncDone, result.shape(), {Value{chain, result.exact, result.magnitude}},
                   hlo::EmptyAttributes(kAsyncDone), result.exact, result.magnitude, {callee});
  return true;
}

// A loop over one dimension: (slice, carry) -> (slice of the result, carry).
bool AddScan(Draft& draft, Opcode opcode) {
  Value x = draft.Any(AnyElement, 1, 3);
  if (x.type() == PrimitiveType::kF8E8M0FNU) return false;
  x = draft.Bounded(x, kLoopBound);
  const int64_t dimension = draft.random.Below(x.shape().rank()), length = x.shape().dimensions[dimension];
  if (length > 12) return false;
  const Value carry = draft.Bounded(draft.OfShape(Shape::Scalar(draft.AnyTypeOf(NumberElement))), kLoopBound);
  Shape slice = Shape::Array(x.type(), x.shape().dimensions);
  slice.dimensions.erase(slice.dimensions.begin() + dimension);
  const auto inexact = [](const Value& value) { return !BitsElement(value.type()); };
  hlo::Computation* body = draft.module().AddComputation("scan");
  Draft inside(*body, draft.random, draft.palette, draft.depth + 1);
  inside.AddArgument(slice, x.exact, kLoopBound);
  inside.AddArgument(carry.shape(), !inexact(carry), kLoopBound);
  Grow(inside, draft.random.Between(1, 3));
  const Value output = Finish(inside, slice);
  const Value next = inside.Bounded(Finish(inside, Shape::Scalar(carry.type())), kLoopBound);
  body->set_root(inside.Tuple({output, next}).instruction);
  hlo::ScanAttributes a;
  a.dimension = dimension;
  a.num_carries = 1;
  a.is_reverse = draft.random.Chance(0.3);
  draft.KeepShaped(opcode, Shape::Tuple({Shape::Array(x.type(), x.shape().dimensions), Shape::Scalar(carry.type())}),
                   {x, carry}, a, false, std::max(output.magnitude, kLoopBound), {body});
  return true;
}

const OpcodeRule kControlRules[] = {
    {kWhile, 4, AddWhile}, {kConditional, 4, AddConditional},
    {kCall, 3, AddCall},   {kAsyncStart, 1, AddAsync, /*nested=*/false},
    {kScan, 1, AddScan},
};

}  // namespace

absl::Span<const OpcodeRule> ControlRules() { return kControlRules; }

}  // namespace smelt::fuzz
