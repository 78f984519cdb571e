// Integer parameters that choose among few elements: `token_type_ids`, which pick one of two rows, or actions of an
// agent that has four. JAX fills what lies outside a table with NaN, so that made inputs beyond it make all results
// NaN.
//
//   std::map<int64_t, int64_t> limits = IndexLimits(module);   // {78: 2}: leaf 78 has values below 2
#pragma once

#include <cstdint>
#include <map>

#include "hlo/module.h"

namespace smelt::hlo {

// Limits by array leaf of the entry's parameters (tuples flattened, tokens not counted): the elements of the shortest
// dimension that a gather chooses by it, directly or after integer arithmetic that keeps it an index (a wrapped
// negative one, a reshape, a slice). Only those of fewer elements than made integers reach (inputs.h).
std::map<int64_t, int64_t> IndexLimits(const Module& module);

}  // namespace smelt::hlo
