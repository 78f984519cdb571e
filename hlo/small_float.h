// Floating-point formats that C++ lacks: bf16, f16 and the 8-, 6- and 4-bit ones, as bit patterns with exact
// conversions.
//
//   BFloat16 b(3.14159f);  static_cast<float>(b);                    // 3.140625
//   EncodeFloat(PrimitiveType::kF8E4M3FN, 500.0);                    // 0x7f: NaN, the format has no infinity
//   DecodeFloat(PrimitiveType::kF8E4M3FN, 0x7e);                     // 448
//
// Conversions from float and double round once, to nearest even, and to powers of two (f8e8m0fnu) up from the middle.
// Values beyond the largest finite one become infinity, NaN where the format has no infinity, or the largest finite
// value where it has neither (f4e2m1fn, f6e2m3fn, f6e3m2fn). Conversions to float are exact. Everything here works on
// bits, so it does not depend on the processor's rounding or flush-to-zero mode.
#pragma once

#include <bit>
#include <cstdint>

#include "hlo/primitive_type.h"

namespace smelt::hlo {

// How the bits of a format mean a number. Sign bit, exponent, mantissa from high to low; f8e8m0fnu has neither sign nor
// mantissa.
struct FloatFormat {
  enum class Special : uint8_t {
    kIeee,          // all-ones exponent: infinity and NaN
    kFinite,        // NaN is all ones below the sign; no infinity
    kUnsignedZero,  // NaN is the pattern of negative zero; no infinity and no negative zero
    kNone,          // neither: conversion saturates, NaN becomes negative zero
    kExponentOnly,  // f8e8m0fnu: powers of two, 0xff is NaN, no zero
  };
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special;
};

// The format of any float type, f32 and f64 included.
const FloatFormat& GetFloatFormat(PrimitiveType type);

// The value of a bit pattern; `type` is any float type of at most 16 bits.
float DecodeFloat(PrimitiveType type, uint16_t bits);
// The nearest bit pattern; `type` as above.
uint16_t EncodeFloat(PrimitiveType type, double value);

// bf16 and f16 are common enough for code of their own.
inline float BFloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t FloatToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);  // quiet NaN, payload's top kept
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float Float16ToFloat(uint16_t bits);
uint16_t FloatToFloat16(float value);

// A type to put in arrays: 16-bit storage whose arithmetic goes through float.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(FloatToBFloat16(value)) {}
  explicit operator float() const { return BFloat16ToFloat(bits); }
};
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(FloatToFloat16(value)) {}
  explicit operator float() const { return Float16ToFloat(bits); }
};

// Arrays of `count` elements at once: any float type of at most 16 bits from and to f32, and from f64 with one
// rounding.
void DecodeFloats(PrimitiveType type, const void* from, float* to, int64_t count);
void EncodeFloats(PrimitiveType type, const float* from, void* to, int64_t count);
void EncodeFloats(PrimitiveType type, const double* from, void* to, int64_t count);

}  // namespace smelt::hlo
