// Reductions that find where the largest or the smallest element is, as argmax and argmin are written in HLO: pairs of
// a value and its position, joined by comparisons.
//
//   auto sum = SimpleCombiner(BinaryOp::kAdd, PrimitiveType::kF32);
//   bool is_one = ArgMost(*sum, PrimitiveType::kF32, PrimitiveType::kS32) != nullptr;   // false: no pairs
#pragma once

#include <memory>

#include "hlo/instruction.h"
#include "kernels/te/tensor.h"

namespace smelt::kernels::te {

// The same combiner in a form that may be reordered, with an identity: the first of the largest (smallest) elements,
// NaN before all others. Null where `combiner` computes something else from pairs whose positions ascend.
std::shared_ptr<const Combiner> ArgMost(const Combiner& combiner, PrimitiveType value, PrimitiveType position);

// Whether the elements of an array are 0, 1, 2, ... along a dimension, and equal along the others.
bool CountsAlong(const hlo::Instruction& instruction, int64_t dimension);

}  // namespace smelt::kernels::te
