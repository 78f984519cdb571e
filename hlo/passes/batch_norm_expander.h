// Writes batch normalisations as the arithmetic that they are.
//
//   batch-norm-inference(x, scale, offset, mean, variance)
//   after:  multiply(subtract(x, mean), multiply(rsqrt(add(variance, epsilon)), scale)) + offset, each broadcast over x
//
// batch-norm-training also computes mean and variance (one pass over x: the sums of x and x * x), batch-norm-grad the
// gradients of its three inputs. As plain elementwise work and reductions they fuse with their neighbours, which a
// single operation cannot. f16 and bf16 compute in f32. Linear in the module. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> ExpandBatchNorm(Module& module);

}  // namespace smelt::hlo
