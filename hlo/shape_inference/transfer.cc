// Collectives, copies in the background, asynchronous operations, and transfers between devices and the host.
#include "base/status_macros.h"
#include "hlo/shape_inference/rules.h"

namespace smelt::hlo::shape_inference {
namespace {

Shape OneOrTuple(std::vector<Shape> shapes) {
  return shapes.size() == 1 ? std::move(shapes[0]) : Shape::Tuple(std::move(shapes));
}

absl::Status ExpectSomeArrays(const Request& request) {
  if (request.operands.empty()) return Refuse(request, "takes an operand at least");
  for (int64_t i = 0; i < request.operand_count(); ++i) SMELT_RETURN_IF_ERROR(ExpectArray(request, i));
  return absl::OkStatus();
}

// The declared arrays, one for each operand.
absl::StatusOr<std::vector<Shape>> DeclaredArrays(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(const Shape declared, Declared(request));
  std::vector<Shape> shapes = declared.IsTuple() ? declared.tuple_shapes : std::vector<Shape>{declared};
  if (static_cast<int64_t>(shapes.size()) != request.operand_count()) {
    return Refuse(request, "the result must have an array for each of ", request.operand_count(), " operands, is ",
                  declared.ToString());
  }
  return shapes;
}

// How many times larger one dimension is on one side than on the other depends on the devices, which the text need not
// tell.
absl::StatusOr<Shape> OneDimensionScaled(const Request& request, bool grows) {
  SMELT_RETURN_IF_ERROR(ExpectSomeArrays(request));
  const std::vector<int64_t>& dimensions = request.Get<CollectiveAttributes>().dimensions;
  if (dimensions.size() != 1) return Refuse(request, "takes one dimension, has ", ToString(dimensions));
  SMELT_ASSIGN_OR_RETURN(const std::vector<Shape> results, DeclaredArrays(request));
  for (int64_t i = 0; i < request.operand_count(); ++i) {
    const Shape &operand = request.shape(i), &result = results[i];
    bool fits = result.IsArray() && result.element_type == operand.element_type && result.rank() == operand.rank() &&
                dimensions[0] >= 0 && dimensions[0] < operand.rank();
    for (int64_t d = 0; fits && d < operand.rank(); ++d) {
      const int64_t small = grows ? operand.dimensions[d] : result.dimensions[d];
      const int64_t large = grows ? result.dimensions[d] : operand.dimensions[d];
      fits = SizesAgree(small, large) || (d == dimensions[0] && small > 0 && large % small == 0);
    }
    if (!fits) {
      return Refuse(request, "result ", result.ToString(), " must differ from ", Describe(request, i),
                    " by a factor in dimension ", dimensions[0], " only");
    }
  }
  return *request.declared;
}

absl::StatusOr<Shape> SameAsOperands(const Request& request) {
  std::vector<Shape> shapes;
  for (const Instruction* operand : request.operands) shapes.push_back(operand->shape());
  return OneOrTuple(std::move(shapes));
}

// ((operands...), result, context...)
absl::Status ExpectAsyncShape(const Request& request, const Shape& shape) {
  if (shape.IsTuple() && shape.tuple_shapes.size() >= 2 && shape.tuple_shapes[0].IsTuple()) return absl::OkStatus();
  return Refuse(request, "the shape must be ((operand shapes), result shape, ...), is ", shape.ToString());
}

bool IsAsyncPart(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kAsyncStart || instruction.opcode() == Opcode::kAsyncUpdate;
}

absl::Status ExpectAsyncOperand(const Request& request) {
  if (request.operands.empty()) return Refuse(request, "takes the asynchronous operation as an operand, has none");
  if (request.operands[0]->opcode() == Opcode::kAsyncDone)
    return Refuse(request, "cannot have an async-done as operand: `", request.operands[0]->name(), "`");
  SMELT_RETURN_IF_ERROR(ExpectAsyncShape(request, request.shape(0)));
  // What a chain runs, all its parts must agree on.
  if (!request.called.empty() && IsAsyncPart(*request.operands[0]) && !request.operands[0]->called().empty() &&
      request.operands[0]->called(0) != request.called[0]) {
    return Refuse(request, "must call `", request.operands[0]->called(0)->name(), "`, as `",
                  request.operands[0]->name(), "` does, calls `", request.called[0]->name(), "`");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> AllGather(const Request& request) { return OneDimensionScaled(request, /*grows=*/true); }
absl::StatusOr<Shape> ReduceScatter(const Request& request) { return OneDimensionScaled(request, /*grows=*/false); }

absl::StatusOr<Shape> AllReduce(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectSomeArrays(request));
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  return SameAsOperands(request);
}

absl::StatusOr<Shape> AllToAll(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectSomeArrays(request));
  SMELT_ASSIGN_OR_RETURN(const std::vector<Shape> results, DeclaredArrays(request));
  for (int64_t i = 0; i < request.operand_count(); ++i) {
    if (results[i].element_type != request.shape(i).element_type ||
        results[i].ElementCount() != request.shape(i).ElementCount()) {
      return Refuse(request, "result ", results[i].ToString(), " must have type and number of elements of ",
                    Describe(request, i));
    }
  }
  return *request.declared;
}

absl::StatusOr<Shape> CollectivePermute(const Request& request) {
  if (request.operands.empty()) return Refuse(request, "takes an operand at least");
  // A permutation in place takes source, target, and where in each.
  if (request.operand_count() == 4) return request.shape(1);
  return SameAsOperands(request);
}

absl::StatusOr<Shape> CollectiveBroadcast(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectSomeArrays(request));
  if (request.declared != nullptr) return *request.declared;
  return SameAsOperands(request);
}

absl::StatusOr<Shape> CopyStart(const Request& request) {
  return Shape::Tuple({request.shape(0), request.shape(0), Shape::Scalar(PrimitiveType::kU32)});
}

absl::StatusOr<Shape> CopyDone(const Request& request) {
  if (!request.shape(0).IsTuple() || request.shape(0).tuple_shapes.empty())
    return Refuse(request, "takes a copy-start, not ", Describe(request, 0));
  return request.shape(0).tuple_shapes[0];
}

absl::StatusOr<Shape> AsyncStart(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, Declared(request));
  SMELT_RETURN_IF_ERROR(ExpectCalled(request, 1));
  SMELT_RETURN_IF_ERROR(ExpectAsyncShape(request, declared));
  const std::vector<Shape>& bound = declared.tuple_shapes[0].tuple_shapes;
  if (static_cast<int64_t>(bound.size()) != request.operand_count()) {
    return Refuse(request, "the shape must list ", request.operand_count(), " operands, is ", declared.ToString());
  }
  for (int64_t i = 0; i < request.operand_count(); ++i) {
    if (!bound[i].SameAs(request.shape(i))) {
      return Refuse(request, "operand ", i, " must be ", bound[i].ToString(), ", as the shape says, is ",
                    Describe(request, i));
    }
  }
  return declared;
}

absl::StatusOr<Shape> AsyncUpdate(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, Declared(request));
  SMELT_RETURN_IF_ERROR(ExpectAsyncOperand(request));
  SMELT_RETURN_IF_ERROR(ExpectAsyncShape(request, declared));
  return declared;
}

absl::StatusOr<Shape> AsyncDone(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectAsyncOperand(request));
  const Shape& result = request.shape(0).tuple_shapes[1];
  // An empty tuple: the result is bound only here.
  if (result.IsTuple() && result.tuple_shapes.empty()) return Declared(request);
  return result;
}

absl::StatusOr<Shape> Infeed(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, Declared(request));
  if (!request.shape(0).IsToken()) return Refuse(request, "takes a token, not ", Describe(request, 0));
  if (!declared.IsTuple() || declared.tuple_shapes.size() != 2 || !declared.tuple_shapes[1].IsToken()) {
    return Refuse(request, "the result must be a tuple of data and a token, is ", declared.ToString());
  }
  return declared;
}

absl::StatusOr<Shape> Outfeed(const Request& request) {
  if (!request.shape(1).IsToken()) return Refuse(request, "operand 1 must be a token, is ", Describe(request, 1));
  return Shape::Token();
}

absl::StatusOr<Shape> Send(const Request& request) {
  SMELT_RETURN_IF_ERROR(ExpectOperands(request, 2));
  if (!request.shape(1).IsToken()) return Refuse(request, "operand 1 must be a token, is ", Describe(request, 1));
  return Shape::Tuple({request.shape(0), Shape::Scalar(PrimitiveType::kU32), Shape::Token()});
}

absl::StatusOr<Shape> SendDone(const Request&) { return Shape::Token(); }

absl::StatusOr<Shape> Recv(const Request& request) {
  SMELT_ASSIGN_OR_RETURN(Shape declared, Declared(request));
  SMELT_RETURN_IF_ERROR(ExpectOperands(request, 1));
  if (!declared.IsTuple() || declared.tuple_shapes.size() != 3) {
    return Refuse(request, "the result must be a tuple of data, u32[] and a token, is ", declared.ToString());
  }
  return declared;
}

absl::StatusOr<Shape> RecvDone(const Request& request) {
  const Shape& started = request.shape(0);
  if (!started.IsTuple() || started.tuple_shapes.empty())
    return Refuse(request, "takes a recv, not ", Describe(request, 0));
  // Texts disagree with themselves about what arrives, and XLA lets them: only the form is sure.
  if (request.declared != nullptr && request.declared->IsTuple() && request.declared->tuple_shapes.size() == 2)
    return *request.declared;
  return Shape::Tuple({started.tuple_shapes[0], Shape::Token()});
}

}  // namespace smelt::hlo::shape_inference
