// Shrinks a module while something keeps going wrong with it.
//
//   ReduceOptions options;
//   options.fails = [&](const hlo::Module& candidate) { return Crashes(candidate); };
//   std::unique_ptr<hlo::Module> small = Reduce(module, options);
//
// Every candidate verifies and is smaller than the best so far: fewer instructions, then fewer elements, then less
// text. Tried in turn until nothing helps any more: other roots, instructions cut off (in halves, quarters, ... then
// one by one: replaced by an operand, a new parameter, a constant), calls and branches replaced by their bodies, loops
// by one round or none, tuple elements and parameters that nothing needs, smaller sizes, attributes at their defaults.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "hlo/module.h"

namespace smelt::fuzz {

struct ReduceProgress {
  int64_t tried = 0;  // candidates that were given to `fails`
  int64_t kept = 0;
  int64_t instructions = 0;  // of the best so far
};

struct ReduceOptions {
  // Whether the candidate still goes wrong in the same way. It verifies.
  std::function<bool(const hlo::Module& candidate)> fails;
  // Called after every candidate; `best` is valid during the call, and new where `improved`. False ends the reduction.
  std::function<bool(const ReduceProgress& progress, const hlo::Module& best, bool improved)> progress;
  // Leave the computations of reduce, scatter, sort and their kin as they are: a sum that becomes "the first operand"
  // is no associative function any more, and engines may differ over it.
  bool keep_reducers = false;
  int64_t max_tries = INT64_MAX;
  double max_seconds = 1e9;
};

// The smallest found. The module must verify; that it fails is the caller's to know.
std::unique_ptr<hlo::Module> Reduce(const hlo::Module& module, const ReduceOptions& options);

}  // namespace smelt::fuzz
