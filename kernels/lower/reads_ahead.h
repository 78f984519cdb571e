// What a nest is to ask for ahead of time along one of its axes (schedule::PrefetchAhead): the positions that its
// bodies read where the axis is further on, by the tensor's own coordinates also where a copy of it is what they read.
//
//   prefetch b sum r0 1 i0      sum[i, j] = sum[i, j] + b.thread[50*i + k, j]     asks at loop k for b[50*(i + 1) + k,
//   j]
#pragma once

#include <utility>
#include <vector>

#include "kernels/lower/nest.h"

namespace smelt::kernels::lower {

// `values`: bodies of the stage over its axes, inlined stages resolved. `positions`: what stands for each axis in the
// nest, those of the stage first and then those of its sum.
std::vector<ReadAhead> ReadsAhead(const schedule::State& state, const schedule::Stage& stage,
                                  const std::vector<Expr>& values, const std::vector<std::pair<Expr, Expr>>& positions);

}  // namespace smelt::kernels::lower
