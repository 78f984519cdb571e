// Kernels like a given one with other sizes, so that the shapes of a corpus are not those of a few programs.
//
//   std::vector<fusion::Kernel> variants = ShapeVariants(kernel, 3, seed);
//
// Every dimension of one size becomes another size at once: half, twice or four times as much, one more or less, or a
// prime near by. What does not verify so (a reshape that folds two dimensions, a constant array) is no variant.
#pragma once

#include <cstdint>
#include <vector>

#include "fusion/kernel.h"

namespace smelt::tuner {

// At most `count` distinct ones, each with one or two sizes changed; deterministic under the seed.
std::vector<fusion::Kernel> ShapeVariants(const fusion::Kernel& kernel, int64_t count, uint64_t seed);

}  // namespace smelt::tuner
