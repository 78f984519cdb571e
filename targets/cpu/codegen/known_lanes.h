// Vector indices whose lanes lie at distances from each other that are known when code is made: 0 0 2 2 4 4 ... from
// some scalar, as the real parts of complex numbers do for the elements that they are part of, or an image that is
// enlarged; or 0 1 2 3 64 65 66 67 ..., the lines of a block that become one line.
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

// Finds the lanes of a kLoad of four lanes or more without a predicate, whose index is neither a ramp nor a splat.
std::optional<KnownLanes> KnownLanesOf(const kernels::te::ExprNode& load);

// Elements that a vector of `lanes` holds, from the first to the last of these: offsets.
struct Span {
  int64_t first = 0, last = 0;
  int64_t count() const { return last - first + 1; }
};
// Spans of at most `lanes` elements, in ascending order, that hold all offsets.
std::vector<Span> SpansOf(const KnownLanes& known);

}  // namespace smelt::cpu::codegen
