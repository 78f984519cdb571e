// Storage flattening: every buffer becomes a row of elements, every access has one index.
//
//   f32 a[4, 8];  a[i, j] = x;       before: indices have the dimensions of tensors, or of their layout
//   f32 a[32];    a[i*8 + j] = x;    after
//
// Run it late: what moves data by dimensions (copies in two dimensions, padding of rows, capacities) must come before,
// whatever looks at addresses (predicates, vectors) after. Linear. Never fails.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> FlattenStorage(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
