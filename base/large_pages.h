// Memory in pages of 2 MiB.
//
// What a program reads once a call waits for translations of addresses as much as for memory, and no prefetcher of a
// processor crosses a page: on a Zen 4 weights of 38 MB are read 1.5 times as fast from large ones.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace smelt {

inline constexpr int64_t kLargePageBytes = int64_t{2} << 20;

// The whole large pages between the two ends will be such, where Linux has them (`transparent_hugepage` is `madvise` or
// `always`) and nothing there has been touched. A wish: without them everything works as well.
inline void PreferLargePages(void* begin, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(kLargePageBytes);
  const uintptr_t start = reinterpret_cast<uintptr_t>(begin), first = (start + page - 1) / page * page;
  const uintptr_t last = (start + static_cast<uintptr_t>(bytes)) / page * page;
  if (last > first) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace smelt
