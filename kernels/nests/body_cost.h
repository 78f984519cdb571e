// What the arithmetic of an operation takes, for decisions about what is computed where.
#pragma once

#include "kernels/te/tensor.h"

namespace smelt::kernels::nests {

// Roughly how many slots of a vector unit one element of the operation's own bodies takes, times two. The scale is this
// folder's own, and its thresholds (what is kept, what runs on several threads) are set on it; seconds are the business
// of cost/, whose table goes by opcode and type.
double BodyCost(const te::Operation& operation);

}  // namespace smelt::kernels::nests
