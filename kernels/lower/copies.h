// Several copies of a buffer, as a dimension before its own: what virtual threads and pipelines keep.
//
//   ir::Buffer buffer = function.shared[0];                          // f32 c[8, 4]
//   absl::StatusOr<ir::Buffer> copies = CopiesOf(buffer, 2);         // f32 c[2, 8, 4]
#pragma once

#include "absl/status/statusor.h"
#include "kernels/ir/stmt.h"

namespace smelt::kernels::lower {

// InvalidArgument where they exceed the capacity of its memory or 2^36 elements.
absl::StatusOr<ir::Buffer> CopiesOf(const ir::Buffer& buffer, int64_t count);

}  // namespace smelt::kernels::lower
