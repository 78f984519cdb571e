// How NaNs of each float type are written: `nan` is the quiet one, `nan(0x12)` has these bits in its mantissa.
#pragma once

#include "hlo/primitive_type.h"

namespace smelt::hlo::text {

// Bits of a NaN that the text can set. Types with a single NaN pattern (or none) have 0.
inline int NanPayloadBits(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF64:
    case PrimitiveType::kC128:
      return 52;
    case PrimitiveType::kF32:
    case PrimitiveType::kC64:
      return 23;
    case PrimitiveType::kF16:
      return 10;
    case PrimitiveType::kBF16:
      return 7;
    case PrimitiveType::kF8E3M4:
      return 4;
    case PrimitiveType::kF8E4M3:
      return 3;
    case PrimitiveType::kF8E5M2:
      return 2;
    default:
      return 0;
  }
}

// Width in bits of one real number of the type.
inline int RealBits(PrimitiveType type) { return IsComplex(type) ? BitWidth(ComplexPart(type)) : BitWidth(type); }

}  // namespace smelt::hlo::text
