#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"

namespace smelt::hlo {

absl::StatusOr<Value> EvaluateTuple(const Call& call) {
  return Value(
      std::vector<Value>(std::make_move_iterator(call.operands.begin()), std::make_move_iterator(call.operands.end())));
}

absl::StatusOr<Value> EvaluateGetTupleElement(const Call& call) {
  Value& tuple = call.operand(0);
  const size_t index = static_cast<size_t>(call.instruction.attributes<TupleIndexAttributes>().index);
  if (!tuple.IsTuple() || index >= tuple.elements().size())
    return absl::InvalidArgumentError("reads an element that the tuple does not have");
  if (tuple.IsUniqueTuple()) return std::move(tuple.mutable_elements()[index]);
  return tuple.elements()[index];
}

// call and fusion.
absl::StatusOr<Value> EvaluateCall(const Call& call) {
  return call.evaluation.Run(
      *call.instruction.called(0),
      std::vector<Value>(std::make_move_iterator(call.operands.begin()), std::make_move_iterator(call.operands.end())));
}

absl::StatusOr<Value> EvaluateWhile(const Call& call) {
  const Computation& body = *call.instruction.called(0);
  const Computation& condition = *call.instruction.called(1);
  Value state = std::move(call.operand(0));
  while (true) {
    SMELT_RETURN_IF_ERROR(call.evaluation.CheckLimits());
    SMELT_ASSIGN_OR_RETURN(Value goes_on, call.evaluation.Run(condition, {state}));
    if (*goes_on.data<uint8_t>() == 0) return state;
    std::vector<Value> arguments;
    arguments.push_back(std::move(state));
    SMELT_ASSIGN_OR_RETURN(state, call.evaluation.Run(body, std::move(arguments)));
  }
}

absl::StatusOr<Value> EvaluateConditional(const Call& call) {
  const Literal& selector = call.operand(0).array();
  const int64_t branches = static_cast<int64_t>(call.instruction.called().size());
  int64_t branch;
  if (selector.shape().element_type == PrimitiveType::kPred) {
    branch = selector.GetInteger(0) != 0 ? 0 : 1;
  } else {
    branch = selector.GetInteger(0);
    if (branch < 0 || branch >= branches) branch = branches - 1;
  }
  if (branch >= branches) return absl::InvalidArgumentError("has too few branches");
  std::vector<Value> arguments;
  arguments.push_back(std::move(call.operand(branch + 1)));
  return call.evaluation.Run(*call.instruction.called(branch), std::move(arguments));
}

// What hands its first operand on: opt-barrier, domain, add-dependency.
absl::StatusOr<Value> EvaluatePassThrough(const Call& call) { return std::move(call.operand(0)); }

// There is one device, and counting begins at zero.
absl::StatusOr<Value> EvaluateDeviceId(const Call& call) {
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewZeroArray(call.shape()));
  return Value(std::move(result));
}

absl::StatusOr<Value> EvaluateToken(const Call&) { return Value(); }

absl::StatusOr<Value> EvaluateCopyStart(const Call& call) {
  // (destination, source, context): the copy is done at once.
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> context,
                         call.evaluation.NewZeroArray(Shape::Scalar(PrimitiveType::kU32)));
  Value source = std::move(call.operand(0));
  return Value(std::vector<Value>{source, source, Value(std::move(context))});
}

absl::StatusOr<Value> EvaluateCopyDone(const Call& call) { return call.operand(0).elements()[0]; }

// (operands, result, contexts...): the work is done at once, async-done hands the result on.
absl::StatusOr<Value> EvaluateAsyncStart(const Call& call) {
  std::vector<Value> operands(call.operands.begin(), call.operands.end());
  SMELT_ASSIGN_OR_RETURN(Value result, call.evaluation.Run(*call.instruction.called(0), operands));
  std::vector<Value> elements = {Value(std::move(operands)), std::move(result)};
  const std::vector<Shape>& shapes = call.shape().tuple_shapes;
  for (size_t i = 2; i < shapes.size(); ++i) {
    if (!shapes[i].IsArray()) {
      elements.push_back(Value());
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> context, call.evaluation.NewZeroArray(shapes[i]));
    elements.push_back(Value(std::move(context)));
  }
  return Value(std::move(elements));
}

absl::StatusOr<Value> EvaluateAsyncDone(const Call& call) {
  const Value& started = call.operand(0);
  if (!started.IsTuple() || started.elements().size() < 2)
    return absl::InvalidArgumentError("is not given what an async-start made");
  return started.elements()[1];
}

}  // namespace smelt::hlo
