// Hashes names eight bytes at a time: a text is mostly names, and std::hash would take a tenth of the time of reading
// it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace smelt::hlo {

struct NameHash {
  size_t operator()(std::string_view name) const {
    uint64_t hash = name.size();
    const char* at = name.data();
    size_t left = name.size();
    for (; left > 8; left -= 8, at += 8) hash = Mix(hash, Load(at, 8));
    return Mix(hash, Load(at, left));
  }

 private:
  static uint64_t Load(const char* at, size_t count) {
    uint64_t word = 0;
    if (count > 0) std::memcpy(&word, at, count);
    return word;
  }
  static uint64_t Mix(uint64_t hash, uint64_t word) {
    const unsigned __int128 product =
        static_cast<unsigned __int128>(hash ^ word ^ 0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
};

}  // namespace smelt::hlo
