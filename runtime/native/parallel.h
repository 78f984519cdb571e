// Work of a native operation on the threads of a pool.
//
//   ThreadPool pool(2);
//   InParallel(pool, 100, 5e4, [&](int worker, int64_t begin, int64_t end) {});   // about 50 us of work in 100 pieces
#pragma once

#include <cstdint>

#include "base/float_mode.h"
#include "runtime/thread_pool.h"

namespace smelt::runtime::native {

// Pieces of [0, extent) on the pool, subnormal numbers as zero there as in the calling thread. On the calling thread
// alone where `work`, in nanoseconds, is too little to share.
inline constexpr double kLeastWork = 20e3;
template <typename Body>
void InParallel(ThreadPool& pool, int64_t extent, double work, const Body& body) {
  if (pool.threads() == 1 || extent <= 1 || work < kLeastWork * 2) {
    if (extent > 0) body(0, int64_t{0}, extent);
    return;
  }
  // One captured pointer: std::function keeps it without allocating.
  const Body* of = &body;
  pool.ParallelFor(extent, [of](int worker, int64_t begin, int64_t end) {
    ScopedFlushSubnormals flush;
    (*of)(worker, begin, end);
  });
}

inline int64_t AlignUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace smelt::runtime::native
