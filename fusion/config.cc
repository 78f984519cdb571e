#include "fusion/config.h"

#include <bit>

namespace smelt::fusion {
namespace {

// SplitMix64 (Steele et al., 2014).
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

void Config::Flip(int64_t i) {
  words_[i >> 6] ^= uint64_t{1} << (i & 63);
  const uint64_t high = Mix(static_cast<uint64_t>(i));
  hash_.high ^= high;
  hash_.low ^= Mix(high);
}

int64_t Config::Count() const {
  int64_t count = 0;
  for (uint64_t word : words_) count += std::popcount(word);
  return count;
}

}  // namespace smelt::fusion
