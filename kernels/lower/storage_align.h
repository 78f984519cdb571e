// Storage whose rows a schedule wants at certain strides.
//
//   f32 a[8, 6, 16];   @storage_align(a, axis 0, factor 32, offset 8)      before: 96 elements from row to row
//   f32 a[8, 104];     a[i, j*16 + k]                                      after: 104
//
// An axis's stride becomes the least that holds what lies within and is `offset` modulo `factor`: TVM's storage_align.
// The axes within the outermost aligned one become one. The last pass that changes dimensions, before flatten, and
// after whatever copies buffers. InvalidArgument: storage beyond the capacity of its memory.
#pragma once

#include "kernels/lower/pass.h"

namespace smelt::kernels::lower {

absl::StatusOr<ir::Function> AlignStorage(ir::Function function, PassContext& context);

}  // namespace smelt::kernels::lower
