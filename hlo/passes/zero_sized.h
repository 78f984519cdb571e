// Removes work on arrays without elements.
//
//   f32[0,4] exponential(x)               ->   f32[0,4] constant({})
//   reduce(f32[0,4], init), dimensions={0} ->  broadcast(init)
//   dot(f32[2,0], f32[0,3])               ->   broadcast(0)
//   pad(f32[0], value), padding=2_1       ->   broadcast(value)
//
// Kernels then need not treat the case. Side effects and parameters stay. Linear in the module. Returns true if the
// module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> EliminateZeroSized(Module& module);

}  // namespace smelt::hlo
