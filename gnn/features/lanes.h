// Vectors of eight doubles, with what columns of tiles are made of: logarithms, remainders, floors.
//
//   Doubles x = Doubles{} + 8.0;
//   Doubles third = LogOf(x);
//
// The compiler turns them into the vectors that a CPU has. Everything is inlined, so that it is compiled for the
// vectors of the function that calls it. Included by .cc files that are compiled for several CPUs only.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/cost/cost_formula.h"  // its pragma: vectors are passed by inlined functions only

namespace smelt::gnn {

#define SMELT_LANES_INLINE __attribute__((always_inline)) inline

constexpr int kLanes = 8;
using Doubles = double __attribute__((vector_size(64)));
using Words = int64_t __attribute__((vector_size(64)));
using Floats = float __attribute__((vector_size(32)));

// Natural logarithm of normal numbers above 0, to 1e-11.
SMELT_LANES_INLINE Doubles LogOf(const Doubles& x) {
  constexpr int64_t kOne = 0x3FF0000000000000, kMantissa = 0x000FFFFFFFFFFFFF;
  constexpr int64_t kMagicBits =
      0x4338000000000000;  // of the double below: adding a small number to one adds it to both
  constexpr double kMagic = 6755399441055744.0, kRootOfTwo = 1.4142135623730951, kLogOfTwo = 0.6931471805599453;
  const Words bits = reinterpret_cast<Words>(x);
  const Words exponent_bits = (bits >> 52) - 1023 + kMagicBits;
  const Words mantissa_bits = (bits & kMantissa) | kOne;
  Doubles exponent = reinterpret_cast<Doubles>(exponent_bits) - kMagic;
  Doubles mantissa = reinterpret_cast<Doubles>(mantissa_bits);
  exponent = mantissa > kRootOfTwo ? exponent + 1.0 : exponent;
  mantissa = mantissa > kRootOfTwo ? mantissa * 0.5 : mantissa;
  // log m = 2 artanh((m - 1) / (m + 1)), whose argument is below 0.172.
  const Doubles s = (mantissa - 1.0) / (mantissa + 1.0);
  const Doubles z = s * s;
  Doubles series = z * (1.0 / 13) + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  series = series * z + 1.0;
  return exponent * kLogOfTwo + 2.0 * s * series;
}

// x from 0 to 2^51.
SMELT_LANES_INLINE Doubles FloorOf(const Doubles& x) {
  constexpr double kWhole = 4503599627370496.0;
  const Doubles rounded = (x + kWhole) - kWhole;
  return rounded > x ? rounded - 1.0 : rounded;
}

SMELT_LANES_INLINE void Store(const Doubles& x, float* out) {
  const Floats narrow = __builtin_convertvector(x, Floats);
  std::memcpy(out, &narrow, sizeof(narrow));
}

}  // namespace smelt::gnn
