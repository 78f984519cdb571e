#include "base/hash.h"

#include <cstring>

namespace smelt {
namespace {

// Finaliser of SplitMix64 (Steele et al., "Fast Splittable Pseudorandom Number Generators", 2014).
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Hash128::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(32, '0');
  for (int i = 0; i < 16; ++i) {
    hex[15 - i] = kDigits[(high >> (4 * i)) & 15];
    hex[31 - i] = kDigits[(low >> (4 * i)) & 15];
  }
  return hex;
}

std::optional<Hash128> Hash128::FromHex(std::string_view hex) {
  if (hex.size() != 32) return std::nullopt;
  Hash128 hash;
  for (int i = 0; i < 32; ++i) {
    const int digit = HexDigit(hex[i]);
    if (digit < 0) return std::nullopt;
    uint64_t& half = i < 16 ? hash.high : hash.low;
    half = half << 4 | static_cast<uint64_t>(digit);
  }
  return hash;
}

Hasher& Hasher::Add(int64_t value) {
  const uint64_t x = static_cast<uint64_t>(value);
  a_ = Mix(a_ ^ (x * 0x9E3779B97F4A7C15));
  b_ = Mix(b_ + x) * 0xD6E8FEB86659FD93 ^ a_;
  return *this;
}

Hasher& Hasher::Add(std::string_view bytes) {
  Add(static_cast<int64_t>(bytes.size()));
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    int64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    Add(word);
  }
  if (i < bytes.size()) {
    int64_t word = 0;
    std::memcpy(&word, bytes.data() + i, bytes.size() - i);
    Add(word);
  }
  return *this;
}

Hash128 Hasher::Finish() const { return {Mix(a_ + 0x452821E638D01377 * b_), Mix(b_ ^ (a_ >> 32))}; }

Hash128 HashOf(std::string_view bytes) { return Hasher().Add(bytes).Finish(); }

}  // namespace smelt
