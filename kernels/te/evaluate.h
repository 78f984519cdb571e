// Reference interpreter of tensor expressions: the oracle of schedules, lowering and generated code.
//
//   std::vector<hlo::Literal> c = Evaluate(graph, {&a, &b}).value();
//
// Straight from the definition, one element after the other; for tests and small sizes.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/literal.h"
#include "kernels/te/scalar.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// The graph's outputs. Fails when an input has another shape, or a read that is performed leaves its tensor.
absl::StatusOr<std::vector<hlo::Literal>> Evaluate(const Graph& graph, absl::Span<const hlo::Literal* const> inputs);

// A scalar expression over variables only.
absl::StatusOr<Scalar> EvaluateScalar(const Expr& e, const std::vector<std::pair<Expr, Scalar>>& variables);

}  // namespace smelt::kernels::te
