// Index arithmetic between shapes: flat positions, and positions before and after a reshape.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// Row-major position of `indices` in an array of these dimensions.
Expr Linearize(Indices indices, absl::Span<const int64_t> dimensions);

// The element of an array of dimensions `to` with the same row-major position as `indices` in `from`. Only dimensions
// that really merge or split meet division: [8,12,64] -> [8,768] keeps the first index as it is.
std::vector<Expr> ReshapeIndices(Indices indices, absl::Span<const int64_t> from, absl::Span<const int64_t> to);

}  // namespace smelt::kernels::te
