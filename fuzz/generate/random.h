// Random numbers that are the same on every machine: a stream follows from the numbers that it was made of.
//
//   Random random(seed, module_index);
//   random.Below(6) + 1                 // a die
//
// The generator is splitmix64. Nothing of the standard library's distributions, whose results are an implementation's
// own.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : state_(Mix(Mix(seed) ^ (stream * 0x9E3779B97F4A7C15))) {}

  uint64_t Next() { return Mix(state_ += 0x9E3779B97F4A7C15); }
  // From 0 to n - 1; 0 for n below 2.
  int64_t Below(int64_t n) { return n < 2 ? 0 : static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }
  // Both ends included.
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  bool Chance(double probability) { return static_cast<double>(Next() >> 11) * 0x1p-53 < probability; }

  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[Below(static_cast<int64_t>(values.size()))];
  }
  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (int64_t i = static_cast<int64_t>(values.size()) - 1; i > 0; --i) std::swap(values[i], values[Below(i + 1)]);
  }

 private:
  static uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

  uint64_t state_;
};

}  // namespace smelt::fuzz
