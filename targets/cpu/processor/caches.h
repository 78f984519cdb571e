// How large the caches of one core are.
//
//   int64_t bytes = CacheBytes(3);   // of the last one, as far as this core reaches
#pragma once

#include <cstdint>
#include <filesystem>

namespace smelt::cpu {

// Bytes of the data cache of a level (1, 2, 3) that a core has or shares, as Linux describes the core in `folder`;
// 0 where it does not. sysconf() says other things of the last one: glibc adds up an AMD's, of which a core reaches
// one.
int64_t CacheBytes(int level, const std::filesystem::path& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace smelt::cpu
