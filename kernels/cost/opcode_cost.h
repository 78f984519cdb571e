// What one element of an elementwise operation costs on a vector unit, in units of the target's peak: a fused
// multiply-add counts two and takes a slot; an addition takes the same slot, so it counts two as well.
#pragma once

#include "hlo/opcode.h"
#include "hlo/primitive_type.h"

namespace smelt::kernels::cost {

// Slots of a vector unit that one element takes, times two. 0 for what is only index arithmetic.
double ElementCost(hlo::Opcode opcode, hlo::PrimitiveType type);

// How much slower than f32 this type is: lanes of a vector, and emulation for 16-bit floats.
double TypeFactor(hlo::PrimitiveType type);

}  // namespace smelt::kernels::cost
