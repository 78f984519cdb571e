// Vector indices whose lanes lie at distances from each other that are known when code is made: 0 0 2 2 4 4 ... from
// some scalar, as the real parts of complex numbers do for the elements that they are part of, or an image that is
// enlarged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/te/expr.h"

namespace smelt::cpu::codegen {

// The sum of some scalars, and of an offset for each lane.
struct KnownLanes {
  std::vector<kernels::te::Expr> terms;
  std::vector<int64_t> offsets;
};

// Finds the lanes of a kLoad of four lanes or more without a predicate, whose index is neither a ramp nor a splat,
// where two vectors of the load's length hold all lanes.
std::optional<KnownLanes> NearbyLanes(const kernels::te::ExprNode& load);

}  // namespace smelt::cpu::codegen
