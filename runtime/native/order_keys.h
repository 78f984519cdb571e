// Elements as unsigned integers in the same order, so that sorting compares integers.
//
//   const bool before = OrderedBits(-1.0f, {}) < OrderedBits(2.0f, {});   // true
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/native/element_type.h"

namespace smelt::runtime::native {

// How elements compare. Floats compare in total order (-NaN, -infinity, ..., -0, 0, ..., infinity, NaN).
struct KeyOrder {
  bool descending = false;
  bool zeros_equal = false;  // -0 and what the processor takes for zero are 0
  bool nans_last = false;    // every NaN is the largest
};

template <typename T>
using KeyBits = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <typename T>
inline constexpr bool kIsFloatKey = std::is_floating_point_v<T> || kIsSmallFloat<T>;

template <typename T>
[[gnu::always_inline]] inline bool IsNan(T value) {
  if constexpr (kIsSmallFloat<T>) {
    constexpr uint16_t kInfinity = std::is_same_v<T, BFloat16> ? 0x7f80 : 0x7c00;
    return (value.bits & 0x7fff) > kInfinity;
  } else if constexpr (std::is_floating_point_v<T>) {
    return value != value;
  } else {
    return false;
  }
}

// Subnormal numbers of f32 and bf16 stand where their zero stands, those of f64 too where zeros are equal: comparisons
// run with subnormal numbers as zero.
template <typename T>
[[gnu::always_inline]] inline KeyBits<T> OrderedBits(T value, KeyOrder order) {
  using U = KeyBits<T>;
  constexpr U kSign = static_cast<U>(U{1} << (sizeof(U) * 8 - 1));
  U key;
  if constexpr (kIsFloatKey<T>) {
    constexpr U kInfinity = std::is_same_v<T, Float16>    ? static_cast<U>(0x7c00)
                            : std::is_same_v<T, BFloat16> ? static_cast<U>(0x7f80)
                            : sizeof(U) == 4              ? static_cast<U>(0x7f800000)
                                                          : static_cast<U>(0x7ff0000000000000);
    U bits = std::bit_cast<U>(value);
    const U magnitude = bits & static_cast<U>(~kSign);
    const bool tiny = std::is_same_v<T, Float16> ? magnitude == 0 : (magnitude & kInfinity) == 0;
    if (std::is_same_v<T, float> || std::is_same_v<T, BFloat16>) bits = tiny ? bits & kSign : bits;
    if (order.zeros_equal) bits = tiny ? U{0} : bits;
    if (order.nans_last) bits = magnitude > kInfinity ? static_cast<U>(~kSign) : bits;
    key = bits ^ ((bits & kSign) != 0 ? static_cast<U>(~U{0}) : kSign);
  } else if constexpr (std::is_same_v<T, bool>) {
    key = static_cast<U>(value);
  } else {
    key = static_cast<U>(value);
    if (std::is_signed_v<T>) key ^= kSign;
  }
  return order.descending ? static_cast<U>(~key) : key;
}

}  // namespace smelt::runtime::native
