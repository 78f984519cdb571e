// What the computations of a scatter, a select-and-scatter and a sort do, read off their instructions.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/computation.h"
#include "runtime/native/scatter.h"
#include "runtime/native/select_and_scatter.h"
#include "runtime/native/sort.h"

namespace smelt::cpu {

// How result `i` of a computation of 2n parameters combines parameter i with parameter n + i; nothing for others.
std::optional<runtime::native::Combiner> CombinerOf(const hlo::Computation& computation, int64_t i, int64_t n);

// The comparison of parameter 0 with parameter 1, in this order.
std::optional<runtime::native::Comparison> ComparisonOf(const hlo::Computation& computation);

// A sort's comparator. Keys are operands, where floats may have their zeros and NaN made equal as JAX does; one key is
// compared, or several, each among equals of those before. Fills keys, ties_reversed and partial_order. False for
// other comparators.
bool MatchComparator(const hlo::Computation& computation, runtime::native::SortPlan* plan);

// The type of arrays as the runtime has it; nothing for types of less than a byte and others that it does not know.
std::optional<runtime::native::ElementType> NativeType(hlo::PrimitiveType type);

}  // namespace smelt::cpu
