// 128-bit hashes: module fingerprints, kernel hashes, cache keys. Stable across runs, machines and versions of the
// standard library.
//
//   Hasher h;
//   h.Add("dot").Add(int64_t{128});
//   h.Finish().ToHex()   // 32 hexadecimal digits
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  std::string ToHex() const;
  static std::optional<Hash128> FromHex(std::string_view hex);
  bool operator==(const Hash128&) const = default;
  auto operator<=>(const Hash128&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Hash128& hash) {
    return H::combine(std::move(h), hash.high, hash.low);
  }
};

class Hasher {
 public:
  Hasher& Add(std::string_view bytes);  // length included: Add("a").Add("b") differs from Add("ab")
  Hasher& Add(int64_t value);
  Hasher& Add(const Hash128& hash) { return Add(static_cast<int64_t>(hash.high)).Add(static_cast<int64_t>(hash.low)); }
  Hash128 Finish() const;

 private:
  uint64_t a_ = 0x243F6A8885A308D3;
  uint64_t b_ = 0x13198A2E03707344;
};

Hash128 HashOf(std::string_view bytes);

}  // namespace smelt
