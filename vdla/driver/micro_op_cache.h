// Which kernels of micro-ops lie in the chip's micro-op memory, and where the next one goes: a ring, which overwrites
// what was loaded first.
//
//   MicroOpCache cache(/*depth=*/8192);
//   MicroOpCache::Place place = cache.Use(/*kernel=*/7, /*count=*/64);   // not resident: load it at place.begin
//   place = cache.Use(7, 64);                                            // resident, at the same place
//
// Kernels are loaded by the compute unit, which runs in order: what it overwrites it has used. The driver clears the
// cache with each submission, since other streams use the memory in between.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace smelt::vdla::driver {

class MicroOpCache {
 public:
  explicit MicroOpCache(uint64_t depth) : depth_(depth) {}

  struct Place {
    uint32_t begin = 0;
    bool resident = false;
  };
  // `count` is within [1, depth]. Loads of the kernel count from then on; what overlaps it is evicted.
  Place Use(uint64_t kernel, uint64_t count);
  // Where it is; not resident where it must be loaded. Changes nothing.
  bool IsResident(uint64_t kernel) const { return begin_of_.contains(kernel); }
  void Clear();

  uint64_t evictions() const { return evictions_; }  // since the cache was made

 private:
  const uint64_t depth_;
  uint64_t next_ = 0;  // where the ring goes on
  uint64_t evictions_ = 0;
  std::map<uint64_t, uint64_t> begin_of_;                             // kernel to first micro-op
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> end_and_kernel_;  // first micro-op to end and kernel
};

}  // namespace smelt::vdla::driver
