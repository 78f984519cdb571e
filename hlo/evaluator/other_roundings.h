// Inside the evaluator: results as if they had been rounded the other way.
//
// Monte Carlo arithmetic (Parker, 1997) at its simplest: whoever runs a program twice, the second time with the last
// digits of every rounded number changed at random, sees which of its results rounding decides. Choices between numbers
// that lie next to each other (a ReLU's gradient at zero, a rounding to whole numbers at a half) are rare, and each
// moves a result at once by much; before a choice numbers are therefore moved further, so that more of these go the
// other way than another order of sums would turn.
//
// What ends with zero bits (whole numbers, halves, masks) came from exact arithmetic and stays as it is, as do other
// types than f16, bf16, f32, f64 and complex numbers.
#pragma once

#include "hlo/evaluator/evaluation.h"

namespace smelt::hlo {

// Whether the instruction rounds the numbers that it gives (RoundsResult); a reduction to the largest does not.
bool MayRoundOtherwise(const Instruction& instruction);

// Changes the last digits of each float of the array, up or down as a mix of its bits and index says, so that equal
// numbers in equal places stay equal.
absl::StatusOr<Value> RoundOtherwise(Value value, Evaluation& evaluation);

// How many of its first operands the instruction chooses by: it asks which is larger, or for the nearest whole number.
int64_t ChoosesBy(const Instruction& instruction);

// Moves each float of the operands that the instruction chooses by some last digits of a number as large as they are in
// the mean, up or down as a mix of its bits says, so that numbers that are equal stay equal.
absl::Status ChooseOtherwise(const Instruction& instruction, absl::Span<Value> operands, Evaluation& evaluation);

}  // namespace smelt::hlo
