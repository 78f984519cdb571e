// Arrays whose sizes are known only at run time: how they come to be and what is asked of them. What other opcodes make
// of them is in runtime_sizes.cc.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"

namespace smelt::hlo {

bool HandlesRuntimeSizes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSetDimensionSize:
    case Opcode::kGetDimensionSize:
    case Opcode::kDynamicReshape:
    case Opcode::kScatter:
    case Opcode::kTuple:
    case Opcode::kCall:
    case Opcode::kFusion:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kOptimizationBarrier:
    case Opcode::kCopy:
      return true;
    default:
      return IsElementwise(opcode);
  }
}

absl::StatusOr<Value> EvaluateSetDimensionSize(const Call& call) {
  const int64_t dimension = call.instruction.attributes<DimensionsAttributes>().dimensions[0];
  Value result = call.operand(0);
  std::vector<int64_t> sizes = result.runtime_sizes() != nullptr ? *result.runtime_sizes() : result.shape().dimensions;
  const int64_t size = ReadIndex(call.operand(1).array(), 0), bound = result.shape().dimensions[dimension];
  if (size < 0 || size > bound)
    return absl::InvalidArgumentError(
        absl::StrCat("sets dimension ", dimension, " to ", size, ", its bound is ", bound));
  sizes[dimension] = size;
  // All of it is no other array than before: TensorFlow's top-k says its own size so.
  if (sizes == result.shape().dimensions) {
    result.clear_runtime_sizes();
  } else {
    result.set_runtime_sizes(std::move(sizes));
  }
  return result;
}

absl::StatusOr<Value> EvaluateGetDimensionSize(const Call& call) {
  const int64_t dimension = call.instruction.attributes<DimensionsAttributes>().dimensions[0];
  const Value& operand = call.operand(0);
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(call.shape()));
  result->SetInteger(0, operand.runtime_sizes() != nullptr ? (*operand.runtime_sizes())[dimension]
                                                           : operand.shape().dimensions[dimension]);
  return Value(std::move(result));
}

// Operands: the array, then a size per dimension of the result. Elements keep their row-major order within the sizes at
// run time.
absl::StatusOr<Value> EvaluateDynamicReshape(const Call& call) {
  const Value& operand = call.operand(0);
  const Shape& shape = call.shape();
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    sizes.push_back(ReadIndex(call.operand(d + 1).array(), 0));
    if (sizes.back() < 0 || sizes.back() > shape.dimensions[d]) {
      return absl::InvalidArgumentError(
          absl::StrCat("reshapes dimension ", d, " to ", sizes.back(), ", its bound is ", shape.dimensions[d]));
    }
  }
  return WithSizes(call.evaluation, operand, shape, std::move(sizes));
}

}  // namespace smelt::hlo
