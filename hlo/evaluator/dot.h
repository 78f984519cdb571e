// Inside the evaluator: the product that dot, ragged-dot and scaled-dot share.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/attributes.h"
#include "hlo/evaluator/evaluation.h"

namespace smelt::hlo {

// A dot of two arrays by the batch and contracting dimensions of `attributes`, into an array of `result_shape`.
absl::StatusOr<Value> DotProduct(Evaluation& evaluation, Value lhs_operand, Value rhs_operand,
                                 const DotAttributes& attributes, const Shape& result_shape);

}  // namespace smelt::hlo
