// The arithmetic of combiners, element by element, as XLA has it.
#pragma once

#include <bit>
#include <complex>
#include <type_traits>

#include "runtime/native/element_type.h"
#include "runtime/native/scatter.h"

namespace smelt::runtime::native {

template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// NaN wins. Of two equal numbers, which differ at most in the sign of zero, the positive one is the larger.
template <bool kLarger, typename T>
T Extreme(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    // One instruction, which gives `b` where either is NaN; the branches are those that are seldom taken.
    T extreme = (kLarger ? a > b : a < b) ? a : b;
    if (a == b) {
      const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
      extreme = std::bit_cast<T>(kLarger ? x & y : x | y);
    }
    return a != a ? a : extreme;
  } else {
    return (kLarger ? a < b : b < a) ? b : a;
  }
}

// The same for rows: without branches, so that compilers make vectors of it.
template <bool kLarger, typename T>
T ExtremeInRow(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  const Bits other = (kLarger ? a > b : a < b) ? x : y;
  const Bits ordered = a == b ? (kLarger ? x & y : x | y) : other;
  return std::bit_cast<T>(a != a ? x : ordered);
}

template <Combiner C, typename T>
inline T Combined(T old, T update) {
  if constexpr (C == Combiner::kReplace) {
    return update;
  } else if constexpr (kIsSmallFloat<T>) {
    return T(Combined<C>(static_cast<float>(old), static_cast<float>(update)));
  } else if constexpr (std::is_same_v<T, bool>) {
    constexpr bool kEither = C == Combiner::kAdd || C == Combiner::kMaximum || C == Combiner::kOr;
    return C == Combiner::kXor ? old != update : kEither ? (old | update) != 0 : (old & update) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;  // wraps around
    if constexpr (C == Combiner::kAdd) return static_cast<T>(static_cast<U>(old) + static_cast<U>(update));
    if constexpr (C == Combiner::kMultiply) return static_cast<T>(static_cast<U>(old) * static_cast<U>(update));
    if constexpr (C == Combiner::kMinimum) return Extreme<false>(old, update);
    if constexpr (C == Combiner::kMaximum) return Extreme<true>(old, update);
    if constexpr (C == Combiner::kAnd) return static_cast<T>(old & update);
    if constexpr (C == Combiner::kOr) return static_cast<T>(old | update);
    if constexpr (C == Combiner::kXor) return static_cast<T>(old ^ update);
  } else if constexpr (C == Combiner::kAdd) {
    return old + update;
  } else if constexpr (C == Combiner::kMultiply) {
    if constexpr (kIsComplex<T>) {
      return T(old.real() * update.real() - old.imag() * update.imag(),
               old.real() * update.imag() + old.imag() * update.real());
    } else {
      return old * update;
    }
  } else if constexpr (C == Combiner::kMinimum) {
    return Extreme<false>(old, update);
  } else {
    return Extreme<true>(old, update);
  }
}

// Combined, for each of many elements beside each other.
template <Combiner C, typename T>
inline T CombinedInRow(T old, T update) {
  constexpr bool kOrders = C == Combiner::kMinimum || C == Combiner::kMaximum;
  if constexpr (kOrders && std::is_floating_point_v<T>) {
    return ExtremeInRow<C == Combiner::kMaximum>(old, update);
  } else {
    return Combined<C>(old, update);
  }
}

// Which combinations of the two are compiled.
template <Combiner C, typename T>
inline constexpr bool kCombines =
    C == Combiner::kReplace || C == Combiner::kAdd || C == Combiner::kMultiply ||
    ((C == Combiner::kMinimum || C == Combiner::kMaximum) && !kIsComplex<T>) || std::is_integral_v<T>;

}  // namespace smelt::runtime::native
