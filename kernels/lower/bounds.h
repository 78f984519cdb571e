// Bound inference: consumers first, every stage gets the region that its readers need inside the loop where it is
// computed, and from it the extents of its loops.
//
//   for (i.outer < 8) { for (j < 4 + 2) p[..] = ...;  for (i.inner < 4) c[..] = p[i.inner] + p[i.inner + 2]; }
//
// The region of p inside i.outer is 6 wide, not the whole of p.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/lower/nest.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

// One nest a stage, by its number; those of inputs, inlined stages and stages that nobody reads are not live. Binds the
// range of every loop's variable in `simplifier`. InvalidArgument, naming stage and loop: a stage that is read outside
// of where it is computed, memory that does not last there, a parallel loop inside.
absl::StatusOr<std::vector<Nest>> InferBounds(const schedule::State& state, te::Simplifier& simplifier);

}  // namespace smelt::kernels::lower
