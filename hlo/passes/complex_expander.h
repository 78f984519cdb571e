// Writes products and sums of complex matrices as those of their parts.
//
//   dot(a, b), complex
//   after:  complex(dot(re a, re b) - dot(im a, im b), dot(re a, im b) + dot(im a, re b))
//
//   reduce(x, init), complex, by addition
//   after:  complex(reduce(re x, re init), reduce(im x, im init))
//
// Contractions and sums of real numbers are what kernels are made for. Linear in the module. Returns true if the module
// changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> ExpandComplex(Module& module);

}  // namespace smelt::hlo
