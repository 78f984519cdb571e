// Writes a gather of one slice, at an index of one number, as a dynamic slice.
//
//   gather(table, reshape(i)), slice_sizes={1,650}   ->   dynamic-slice(table, i, 0)
//
// Looking up one row is the usual case in a model that runs step by step; a dynamic slice is simpler to fuse, and both
// clamp the index alike. Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> SimplifyGathers(Module& module);

}  // namespace smelt::hlo
