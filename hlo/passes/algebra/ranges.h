// What is known of a value without running the program: bounds of integers, and floats that are never -0.0.
//
//   iota of s32[10]     ->   {0, 9}
//   convert(pred)       ->   {0, 1}
//
// Programs from array libraries wrap every index (`select(i < 0, i + n, i)`) although most come from iota or constants;
// with bounds the comparison is a constant and the rest goes. Looks a few instructions deep only.
#pragma once

#include <cstdint>
#include <optional>

#include "hlo/instruction.h"

namespace smelt::hlo {

// Every element lies in low..high, both included.
struct IntegerRange {
  int64_t low = 0;
  int64_t high = 0;
};

// Absent where the type is not an integer or pred, or nothing better than the whole type is known. Values of u64 beyond
// the largest s64 count as not known.
std::optional<IntegerRange> RangeOf(const Instruction& x);

// Every value of `from` (pred, integers, f16, bf16, f32, f64) is a value of `to`.
bool IsLosslessConversion(PrimitiveType from, PrimitiveType to);

// No element can be -0.0 (of a float type).
bool IsNeverNegativeZero(const Instruction& x);

}  // namespace smelt::hlo
