// Moves what is multiplied and added by output channel after a convolution or dot into its weights, where these are
// known beforehand: an inference's batch normalisation then costs nothing but the addition.
//
//   before:  y = multiply(subtract(convolution(x, w), broadcast(mean)), broadcast(scale))
//   after:   y = add(convolution(x, multiply(w, broadcast(scale))), broadcast(multiply(negate(mean), scale)))
//
// Known values are combined before they are broadcast: multiply(broadcast(a), broadcast(b)) becomes
// broadcast(multiply(a, b)), so that what is known of a channel is a vector.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

// Known are marked parameters (known_parameters.h) and what follows from them and constants. In the entry computation,
// for results and weights of f32 or f64, and only where the scaled weights are worth keeping. Sums of products are
// rounded in another order: the difference is that of scaling before in place of after, a few units in the last place
// of the largest product. Returns true if the module changed.
absl::StatusOr<bool> FoldChannelScales(Module& module);

}  // namespace smelt::hlo
