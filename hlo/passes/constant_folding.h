// Computes, with the evaluator, what depends on constants only.
//
//   multiply(constant({1, 2}), constant({3, 4}))   ->   constant({3, 8})
//
// Broadcasts and iota stay: they cost a kernel nothing, and as constants they would cost memory. A broadcast of a
// constant counts as known where it meets another constant. Bounded: results of at most 65,536 elements, about four
// million operations an instruction, and a few hundred million in all, so that a small text cannot ask for much work.
// Elided constants (`{...}`) are not known. Returns true if the module changed.
#pragma once

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

absl::StatusOr<bool> FoldConstants(Module& module);

}  // namespace smelt::hlo
