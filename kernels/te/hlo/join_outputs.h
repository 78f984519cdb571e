// Results of a kernel that are computed from the same arrays, element by element, become one operation with several
// outputs: one pass over what they read instead of one each, and what they share is computed once.
//
//   graph = JoinOutputs(std::move(graph));   // m', v' and p' of an optimiser: one operation
#pragma once

#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// Joins outputs of equal shape. One that another is computed from, at the same element, goes into it; one that is read
// in any other way stays alone, as do sums, stacks and borders, which have loops of their own.
Graph JoinOutputs(Graph graph);

}  // namespace smelt::kernels::te
