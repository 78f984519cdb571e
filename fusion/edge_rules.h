// Rules that need only the two instructions of an edge, not the rest of the kernel: how the consumer reads the
// producer, and whether it may ever be computed inside.
#pragma once

#include "fusion/graph.h"

namespace smelt::fusion {

struct EdgeAccess {
  Access access;
  double reuse;  // how often one element of the operand is read
};

// For operand `i` of `consumer`, itself.
EdgeAccess OperandAccess(const hlo::Instruction& consumer, int64_t i);
// Whether every element keeps its row-major position: layouts agree with the dimensions on both sides.
bool IsLinearBitcast(const hlo::Instruction& bitcast);

// Whether `consumer` may stand behind a contraction in its kernel: it is elementwise, or moves elements where the rules
// have moves_arrays_of_contractions.
bool FollowsContraction(const Node& consumer, const Rules& rules);

// kLegal, or the first rule of the table that forbids the edge whatever else is fused. `operand` is the consumer's
// first operand position that reads the producer.
Reason EdgeRule(const Node& producer, const Node& consumer, int64_t operand, const Rules& rules);

}  // namespace smelt::fusion
