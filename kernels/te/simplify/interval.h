// Ranges of integers, with infinities that absorb: what bounds analysis computes with.
//
//   Interval i{0, 9};
//   i * Interval::Point(4) + Interval::Point(1)        // [1, 37]
#pragma once

#include <algorithm>
#include <cstdint>

namespace smelt::kernels::te {

// [lo, hi], both included. kNegativeInfinity and kPositiveInfinity stand for no bound; arithmetic that leaves 64 bits
// gives no bound, so an interval never claims more than is true.
struct Interval {
  static constexpr int64_t kNegativeInfinity = INT64_MIN;
  static constexpr int64_t kPositiveInfinity = INT64_MAX;

  int64_t lo = kNegativeInfinity;
  int64_t hi = kPositiveInfinity;

  static Interval Everything() { return {}; }
  static Interval Point(int64_t value) { return {value, value}; }
  bool IsPoint() const { return lo == hi; }
  bool IsFinite() const { return lo != kNegativeInfinity && hi != kPositiveInfinity; }
  bool Contains(int64_t value) const { return lo <= value && value <= hi; }
  bool operator==(const Interval&) const = default;
};

inline int64_t SaturatingAdd(int64_t a, int64_t b, int64_t on_overflow) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? on_overflow : sum;
}

inline Interval operator+(const Interval& a, const Interval& b) {
  Interval sum;
  if (a.lo != Interval::kNegativeInfinity && b.lo != Interval::kNegativeInfinity)
    sum.lo = SaturatingAdd(a.lo, b.lo, Interval::kNegativeInfinity);
  if (a.hi != Interval::kPositiveInfinity && b.hi != Interval::kPositiveInfinity)
    sum.hi = SaturatingAdd(a.hi, b.hi, Interval::kPositiveInfinity);
  // An overflow past the other end claims nothing either.
  if (sum.lo == Interval::kPositiveInfinity) sum.lo = Interval::kNegativeInfinity;
  if (sum.hi == Interval::kNegativeInfinity) sum.hi = Interval::kPositiveInfinity;
  return sum;
}

inline Interval Negate(const Interval& a) {
  return {a.hi == Interval::kPositiveInfinity ? Interval::kNegativeInfinity : -a.hi,
          a.lo == Interval::kNegativeInfinity ? Interval::kPositiveInfinity : -a.lo};
}

inline Interval operator-(const Interval& a, const Interval& b) { return a + Negate(b); }

inline Interval operator*(const Interval& a, const Interval& b) {
  if (a == Interval::Point(0) || b == Interval::Point(0)) return Interval::Point(0);
  if (!a.IsFinite() || !b.IsFinite()) {
    // Half-bounded times a non-negative point keeps one bound.
    const Interval& x = a.IsPoint() ? b : a;
    const Interval& point = a.IsPoint() ? a : b;
    if (!point.IsPoint() || !point.IsFinite()) return {};
    Interval result;
    int64_t product;
    if (x.lo != Interval::kNegativeInfinity && !__builtin_mul_overflow(x.lo, point.lo, &product))
      (point.lo > 0 ? result.lo : result.hi) = product;
    if (x.hi != Interval::kPositiveInfinity && !__builtin_mul_overflow(x.hi, point.lo, &product))
      (point.lo > 0 ? result.hi : result.lo) = product;
    return result;
  }
  int64_t corners[4];
  if (__builtin_mul_overflow(a.lo, b.lo, &corners[0]) || __builtin_mul_overflow(a.lo, b.hi, &corners[1]) ||
      __builtin_mul_overflow(a.hi, b.lo, &corners[2]) || __builtin_mul_overflow(a.hi, b.hi, &corners[3]))
    return {};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

inline Interval Union(const Interval& a, const Interval& b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
inline Interval Min(const Interval& a, const Interval& b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
inline Interval Max(const Interval& a, const Interval& b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }

}  // namespace smelt::kernels::te
