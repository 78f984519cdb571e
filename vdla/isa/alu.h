// What each operation of the ALU computes on one lane. Every part in C++ (simulators, lowering, tests) calls these, and
// docs/vdla.md says the same in words. No shift amount and no operand is undefined.
//
//   int32_t shifted = ApplyAlu(AluOp::kShr, -5, 1);      // -3: rounds down
//   int32_t scaled = ApplyAlu(AluOp::kMulShift, 1000, MulShiftOperand(77, 8).value());  // 301, from 300.8
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "vdla/isa/instruction.h"

namespace smelt::vdla::isa {

// Modulo 2^32.
constexpr int32_t WrapToInt32(uint64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
constexpr int32_t SaturateToInt32(int64_t value) {
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(value < kLeast ? kLeast : value > kMost ? kMost : value);
}
// What a STORE of ACC8 writes.
constexpr int8_t SaturateToInt8(int32_t value) {
  return static_cast<int8_t>(value < -128 ? -128 : value > 127 ? 127 : value);
}

// x * 2^amount modulo 2^32, for any amount that is not negative.
constexpr int32_t ShiftLeft(int32_t x, uint64_t amount) {
  return amount >= 32 ? 0 : WrapToInt32(uint64_t{static_cast<uint32_t>(x)} << amount);
}
// floor(x / 2^amount), for any amount that is not negative.
constexpr int32_t ShiftRight(int32_t x, uint64_t amount) { return x >> (amount > 31 ? 31 : amount); }

constexpr int32_t AluMin(int32_t x, int32_t y) { return x < y ? x : y; }
constexpr int32_t AluMax(int32_t x, int32_t y) { return x > y ? x : y; }
constexpr int32_t AluAdd(int32_t x, int32_t y) {
  return WrapToInt32(uint64_t{static_cast<uint32_t>(x)} + static_cast<uint32_t>(y));
}
constexpr int32_t AluSub(int32_t x, int32_t y) {
  return WrapToInt32(uint64_t{static_cast<uint32_t>(x)} - static_cast<uint32_t>(y));
}
constexpr int32_t AluMul(int32_t x, int32_t y) {
  return WrapToInt32(uint64_t{static_cast<uint32_t>(x)} * static_cast<uint32_t>(y));
}
constexpr int32_t AluShr(int32_t x, int32_t y) {
  return y >= 0 ? ShiftRight(x, static_cast<uint64_t>(y)) : ShiftLeft(x, static_cast<uint64_t>(-int64_t{y}));
}
// y >= 1: floor((x + 2^(y-1)) / 2^y). From y = 32 on, x + 2^(y-1) is neither negative nor as large as 2^y, so that the
// quotient is 0.
constexpr int32_t AluRshr(int32_t x, int32_t y) {
  if (y <= 0) return ShiftLeft(x, static_cast<uint64_t>(-int64_t{y}));
  if (y > 32) return 0;
  return static_cast<int32_t>((int64_t{x} + (int64_t{1} << (y - 1))) >> y);
}
constexpr int32_t AluShl(int32_t x, int32_t y) {
  return y >= 0 ? ShiftLeft(x, static_cast<uint64_t>(y)) : ShiftRight(x, static_cast<uint64_t>(-int64_t{y}));
}
// -y - 1 is the complement of y, which no value of y overflows. A negative y gives y, the outer minimum.
constexpr int32_t AluClip(int32_t x, int32_t y) { return AluMin(AluMax(x, ~y), y); }
// The exact product is at most 2^54 in magnitude, so that from a shift of 56 on the quotient is 0, as above.
constexpr int32_t AluMulShift(int32_t x, int32_t y) {
  const int64_t product = int64_t{x} * (y >> 8);
  const int shift = y & 255;
  if (shift == 0) return SaturateToInt32(product);
  if (shift >= 57) return 0;
  return SaturateToInt32((product + (int64_t{1} << (shift - 1))) >> shift);
}
constexpr int32_t AluMov(int32_t, int32_t y) { return y; }

using AluFunction = int32_t (*)(int32_t x, int32_t y);
// The number of the operation is the index.
inline constexpr AluFunction kAluFunctions[kAluOps] = {AluMin,  AluMax, AluAdd,  AluSub,      AluMul, AluShr,
                                                       AluRshr, AluShl, AluClip, AluMulShift, AluMov};
constexpr int32_t ApplyAlu(AluOp op, int32_t x, int32_t y) { return kAluFunctions[static_cast<int>(op)](x, y); }

// The operand y of MULSHIFT; nothing where the multiplier has more than 24 signed bits or the shift is not in [0, 255].
constexpr std::optional<int32_t> MulShiftOperand(int32_t multiplier, int shift) {
  if (multiplier < -(1 << 23) || multiplier >= 1 << 23 || shift < 0 || shift > 255) return std::nullopt;
  return WrapToInt32(uint64_t{static_cast<uint32_t>(multiplier)} << 8 | static_cast<uint64_t>(shift));
}

}  // namespace smelt::vdla::isa
