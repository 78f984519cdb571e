// Reads elements of tuples from where they come.
//
//   t = tuple(a, b)   ROOT g = get-tuple-element(t), index=1      ->   ROOT b
//   tuple(get-tuple-element(x), 0, get-tuple-element(x), 1)       ->   x
//
// Tuples are only names for their elements; inlining and loop simplification leave many. The root of the entry stays a
// tuple of its own, so that the outputs of the program keep their form. Linear in the module. Returns true if the
// module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> SimplifyTuples(Module& module);

}  // namespace smelt::hlo
