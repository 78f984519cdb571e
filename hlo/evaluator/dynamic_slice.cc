#include <cstring>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/index_space.h"
#include "hlo/evaluator/strided_copy.h"

namespace smelt::hlo {
namespace {

// Offset of a slice whose start indices are operands first, first + 1, ... (scalars), or one array (old texts). Starts
// are clamped.
int64_t SliceOffset(const Call& call, size_t first, const Shape& bounds, const std::vector<int64_t>& sizes) {
  const std::vector<int64_t> strides = bounds.Strides();
  int64_t offset = 0;
  for (int64_t d = 0; d < bounds.rank(); ++d) {
    const Literal& operand = call.operands[first].array();
    const int64_t start =
        operand.shape().rank() == 1 ? ReadIndex(operand, d) : ReadIndex(call.operands[first + d].array(), 0);
    offset += ClampStart(start, sizes[d], bounds.dimensions[d]) * strides[d];
  }
  return offset;
}

}  // namespace

absl::StatusOr<Value> EvaluateDynamicSlice(const Call& call) {
  const Value& operand = call.operand(0);
  const Shape& shape = call.shape();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  const int64_t offset = shape.rank() == 0 ? 0 : SliceOffset(call, 1, operand.shape(), shape.dimensions);
  RunStridedCopy({shape.dimensions, operand.shape().Strides(), shape.Strides(), offset, 0},
                 StorageBytes(shape.element_type), operand.array().raw(), result->raw());
  return Value(std::move(result));
}

absl::StatusOr<Value> EvaluateDynamicUpdateSlice(const Call& call) {
  const Shape& shape = call.shape();
  const Value& update = call.operand(1);
  const int64_t offset = shape.rank() == 0 ? 0 : SliceOffset(call, 2, shape, update.shape().dimensions);
  std::shared_ptr<Literal> result;
  if (call.operand(0).IsUnique()) {
    result = call.operand(0).TakeArray();  // a loop that fills an array step by step costs what the steps cost
  } else {
    SMELT_ASSIGN_OR_RETURN(result, call.evaluation.NewArray(shape));
    std::memcpy(result->raw(), call.operand(0).array().raw(), result->byte_size());
  }
  RunStridedCopy({update.shape().dimensions, update.shape().Strides(), shape.Strides(), 0, offset},
                 StorageBytes(shape.element_type), update.array().raw(), result->raw());
  return Value(std::move(result));
}

}  // namespace smelt::hlo
