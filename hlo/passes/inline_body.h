// Copies the body of a computation in place of a call to it.
//
//   Instruction* result = InlineBody(*call.called(0), call.operands(), *call.parent());
//   Replace(call, result);
//
// Instructions that the root or a side effect needs are cloned with their names, attributes and control dependencies;
// computations that they call are shared with the original. Linear in the body. The operands must match the parameters
// by type and dimensions.
#pragma once

#include "absl/types/span.h"
#include "hlo/computation.h"

namespace smelt::hlo {

// The instruction of `into` that stands for the body's root (an operand, where the root is a parameter).
Instruction* InlineBody(const Computation& body, absl::Span<Instruction* const> operands, Computation& into);

}  // namespace smelt::hlo
