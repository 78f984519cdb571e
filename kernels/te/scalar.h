// What each operator means on one element: the single definition that constant folding, the reference interpreters and
// the tests of generated code share.
//
//   EvaluateBinary(BinaryOp::kAdd, PrimitiveType::kU8, {.i = 250}, {.i = 10}).i     // 4
//
// Semantics are HLO's: integers wrap, x/0 is -1, shifts by the width or more give 0 (or the sign), conversions from
// floating point to integers truncate and clamp and NaN becomes 0. Floating results are computed in double and rounded
// once to the type. Complex types are not covered.
#pragma once

#include "kernels/te/expr.h"

namespace smelt::kernels::te {

// Integers and pred live in `i` (sign- or zero-extended; u64 as its bits), floats in `f`, both already rounded to the
// type, which the holder knows.
struct Scalar {
  int64_t i = 0;
  double f = 0;
};

// Whether arithmetic on elements of this type rounds to f16 first, as XLA's does: floats of at most 8 bits but
// f8e8m0fnu.
bool ComputesInF16(PrimitiveType type);
// Wraps an integer, or rounds a float, to what the type can hold.
Scalar RoundTo(PrimitiveType type, Scalar value);

// kIsFinite returns a pred; all others the type they are given.
Scalar EvaluateUnary(UnaryOp op, PrimitiveType type, Scalar x);
Scalar EvaluateBinary(BinaryOp op, PrimitiveType type, Scalar a, Scalar b);
bool EvaluateCompare(CompareOp op, PrimitiveType type, Scalar a, Scalar b);
Scalar EvaluateCast(PrimitiveType from, PrimitiveType to, Scalar x);
Scalar EvaluateBitCast(PrimitiveType from, PrimitiveType to, Scalar x);

// Elements in memory: StorageBytes each, pred and sub-byte integers one byte.
Scalar LoadElement(PrimitiveType type, const void* buffer, int64_t index);
void StoreElement(PrimitiveType type, void* buffer, int64_t index, Scalar value);

// Floor division and modulo of index arithmetic; the divisor is positive.
inline int64_t FloorDivide(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
inline int64_t FloorModulo(int64_t a, int64_t b) { return a - FloorDivide(a, b) * b; }

}  // namespace smelt::kernels::te
