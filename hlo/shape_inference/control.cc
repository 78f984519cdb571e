// Tuples, calls, loops, branches and values without operands.
#include <algorithm>

#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {

namespace {

constexpr int64_t kMaxTupleDepth = 200;  // the text has the same limit
constexpr int64_t kMaxNestedLeaves = int64_t{1} << 17;

struct Extent {
  int64_t leaves = 0;
  int64_t depth = 0;
};

Extent ExtentOf(const Shape& shape) {
  if (!shape.IsTuple()) return {1, 0};
  Extent extent{0, 1};
  for (const Shape& element : shape.tuple_shapes) {
    const Extent inner = ExtentOf(element);
    extent.leaves += inner.leaves;
    extent.depth = std::max(extent.depth, inner.depth + 1);
  }
  return extent;
}

// A text need not write the shape of a tuple, and twenty lines of tuples of tuples would make millions of leaves.
absl::Status CheckTupleExtent(const Request& request) {
  int64_t leaves = 0;
  int64_t depth = 0;
  for (const Instruction* operand : request.operands) {
    const Extent extent = ExtentOf(operand->shape());
    leaves += extent.leaves;
    depth = std::max(depth, extent.depth + 1);
  }
  if (depth > kMaxTupleDepth) return Refuse(request, "tuples may be nested ", kMaxTupleDepth, " levels deep, not more");
  if (leaves > kMaxNestedLeaves && leaves > request.operand_count()) {
    return Refuse(request, "a tuple of tuples may have ", kMaxNestedLeaves, " leaves, this one has ", leaves);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> Tuple(const Request& request) {
  SMELT_RETURN_IF_ERROR(CheckTupleExtent(request));
  Shape shape = Shape::Tuple({});
  shape.tuple_shapes.reserve(request.operands.size());
  for (const Instruction* operand : request.operands) shape.tuple_shapes.push_back(operand->shape());
  return Sized(request, std::move(shape));
}

absl::StatusOr<Shape> GetTupleElement(const Request& request) {
  const int64_t index = request.Get<TupleIndexAttributes>().index;
  const Shape& tuple = request.shape(0);
  if (!tuple.IsTuple()) return Refuse(request, "takes a tuple, not ", Describe(request, 0));
  if (index < 0 || index >= static_cast<int64_t>(tuple.tuple_shapes.size())) {
    return Refuse(request, "index ", index, " must be below ", tuple.tuple_shapes.size(), ", the size of tuple `",
                  request.operands[0]->name(), "`");
  }
  return tuple.tuple_shapes[index];
}

absl::StatusOr<Shape> Call(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  const Computation& called = *request.called[0];
  const std::vector<Instruction*> parameters = called.Parameters();
  if (static_cast<int64_t>(parameters.size()) != request.operand_count()) {
    return Refuse(request, "computation `", called.name(), "` takes ", parameters.size(), " parameters, but there are ",
                  request.operand_count(), " operands");
  }
  for (int64_t i = 0; i < request.operand_count(); ++i) {
    if (parameters[i] == nullptr) return Refuse(request, "computation `", called.name(), "` has no parameter ", i);
    if (!parameters[i]->shape().SameAs(request.shape(i))) {
      return Refuse(request, "operand ", i, " must be ", parameters[i]->shape().ToString(), ", which computation `",
                    called.name(), "` takes, is ", Describe(request, i));
    }
  }
  return called.root()->shape();
}

absl::StatusOr<Shape> While(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 2));
  const Shape& state = request.shape(0);
  const Computation &body = *request.called[0], &condition = *request.called[1];
  SMELT_RETURN_IF_ERROR(ExpectParameters(request, body, {state}));
  SMELT_RETURN_IF_ERROR(ExpectParameters(request, condition, {state}));
  if (!body.root()->shape().SameAs(state)) {
    return Refuse(request, "body `", body.name(), "` must give the loop's state ", state.ToString(), ", gives ",
                  body.root()->shape().ToString());
  }
  if (!condition.root()->shape().SameAs(Shape::Scalar(PrimitiveType::kPred))) {
    return Refuse(request, "condition `", condition.name(), "` must give pred[], gives ",
                  condition.root()->shape().ToString());
  }
  return state;
}

absl::StatusOr<Shape> Conditional(const Request& request) {
  const int64_t branches = static_cast<int64_t>(request.called.size());
  if (branches == 0) return Refuse(request, "takes a branch at least");
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, branches));
  if (request.operand_count() != branches + 1) {
    return Refuse(request, "takes a selector and an operand for each of ", branches, " branches, has ",
                  request.operand_count(), " operands");
  }
  const Shape& selector = request.shape(0);
  const bool predicate = selector.SameAs(Shape::Scalar(PrimitiveType::kPred));
  if (!predicate && !selector.SameAs(Shape::Scalar(PrimitiveType::kS32))) {
    return Refuse(request, "the first operand must be a scalar of pred or s32, is ", Describe(request, 0));
  }
  if (request.Get<ConditionalAttributes>().predicate_form && !predicate) {
    return Refuse(request, "true_computation and false_computation need a selector of pred[], not ",
                  Describe(request, 0));
  }
  if (predicate && branches != 2)
    return Refuse(request, "a selector of pred[] needs two branches, there are ", branches);
  const Shape& result = request.called[0]->root()->shape();
  for (int64_t i = 0; i < branches; ++i) {
    SMELT_RETURN_IF_ERROR(ExpectParameters(request, *request.called[i], {request.shape(i + 1)}));
    if (!request.called[i]->root()->shape().SameAs(result)) {
      return Refuse(request, "branches must give the same shape, but `", request.called[0]->name(), "` gives ",
                    result.ToString(), " and `", request.called[i]->name(), "` gives ",
                    request.called[i]->root()->shape().ToString());
    }
  }
  return result;
}

absl::StatusOr<Shape> SameAsOperand(const Request& request) { return request.shape(0); }

absl::StatusOr<Shape> AfterAll(const Request& request) {
  for (int64_t i = 0; i < request.operand_count(); ++i) {
    if (!request.shape(i).IsToken()) return Refuse(request, "takes tokens, not ", Describe(request, i));
  }
  return Shape::Token();
}

absl::StatusOr<Shape> Constant(const Request& request) {
  const ConstantAttributes& a = request.Get<ConstantAttributes>();
  if (a.literal == nullptr) return Refuse(request, "has no value");
  Shape shape = a.literal->shape();
  if (request.declared != nullptr && shape.SameAs(*request.declared)) return *request.declared;
  return shape;
}

absl::StatusOr<Shape> Parameter(const Request& request) {
  if (request.Get<ParameterAttributes>().number < 0) return Refuse(request, "the number must not be negative");
  return Declared(request);
}

absl::StatusOr<Shape> DeviceId(const Request&) { return Shape::Scalar(PrimitiveType::kU32); }

}  // namespace smelt::hlo::shape_inference
