// Matching a tensorized nest with what its intrinsic declares.
//
//   for (j < 16) for (k < 16) c[m, n*16 + j] += s32(a[m, kk*16 + k]) * s32(w[n*16 + j, kk*16 + k])
//
// is y[0, j] += s32(x[0, k]) * s32(w[j, k]) with x at a[m, kk*16], w at w[n*16, kk*16] and y at c[m, n*16].
//
// The loops from the tensorized one inward take their whole ranges, those around it are points. The axes of the tile
// that this gives must be those of the declaration, from the last one on; axes before them must have one element. Then
// the body, over the declared axes, is compared node by node after simplification, types included; an operand of the
// declaration stands for the part of a tensor that the read in its place covers.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/lower/nest.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::lower {

// Where the operands of the declaration begin: tensors and global indices.
struct TensorMatch {
  std::vector<Read> inputs;
  std::vector<Expr> output;
  bool reduces_outside = false;  // some reduce loop stands around the tile
};

// InvalidArgument, naming stage, loop and intrinsic: what differs.
absl::StatusOr<TensorMatch> MatchTensorIntrinsic(const schedule::State& state, const schedule::Stage& stage,
                                                 const Nest& nest, te::Simplifier& simplifier);

}  // namespace smelt::kernels::lower
