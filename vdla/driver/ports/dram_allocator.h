// Which ranges of a machine's DRAM are taken: first fit by address, neighbours joined again when they are freed.
//
//   DramAllocator dram(/*begin=*/4096, /*end=*/uint64_t{1} << 29);
//   uint64_t address = dram.Allocate(/*bytes=*/1000, /*alignment=*/256).value();
//   absl::Status freed = dram.Free(address);
//
// Holds no memory, so that all sizes that 64 bits can count are fine. Linear in the number of free ranges. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace smelt::vdla::driver {

class DramAllocator {
 public:
  // Gives out [begin, end).
  DramAllocator(uint64_t begin, uint64_t end);

  // InvalidArgument: no bytes, no alignment. ResourceExhausted: no free range is large enough; says what there is.
  absl::StatusOr<uint64_t> Allocate(uint64_t bytes, uint64_t alignment);
  // InvalidArgument: no range that is taken begins there.
  absl::Status Free(uint64_t address);
  // Whether all of [address, address + bytes) lies in one range that is taken.
  bool Holds(uint64_t address, uint64_t bytes) const;

  uint64_t free_bytes() const;
  uint64_t largest_free_bytes() const;

 private:
  const uint64_t size_;
  std::map<uint64_t, uint64_t> free_;   // begin to end
  std::map<uint64_t, uint64_t> taken_;  // begin to end
};

}  // namespace smelt::vdla::driver
