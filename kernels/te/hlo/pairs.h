// Reductions over something of each pair of two arrays' rows: distances, covariances, matches.
//
//   t[i, j] = sum of (x[i, k] - y[j, k])^2 over k
//
// They are to schedules what products of matrices are: rows of the one stay in registers while those of the other pass,
// and the other is laid out for vectors once.
#pragma once

#include <string_view>

#include "hlo/instruction.h"

namespace smelt::kernels::te {

// Tag of such reductions.
inline constexpr std::string_view kPairsTag = "pairs";

// Whether this `reduce` is one: over one dimension, of elementwise arithmetic on broadcast arrays, each of which lacks
// a dimension of the result that another one has. Results that are reduced further are none, since all pairs would be
// in memory at a time. Looks at a bounded number of instructions.
bool ReducesPairs(const hlo::Instruction& reduce);

}  // namespace smelt::kernels::te
