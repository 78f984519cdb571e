#include "vdla/driver/ports/dram_allocator.h"

#include <algorithm>
#include <iterator>

#include "base/str_cat.h"

namespace smelt::vdla::driver {

DramAllocator::DramAllocator(uint64_t begin, uint64_t end) : size_(end > begin ? end - begin : 0) {
  if (size_ > 0) free_[begin] = end;
}

absl::StatusOr<uint64_t> DramAllocator::Allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes == 0) return absl::InvalidArgumentError("a range of 0 bytes of DRAM: ask for at least one");
  if (alignment == 0) return absl::InvalidArgumentError("an alignment of 0 bytes: ask for at least one");
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [begin, end] = *range;
    const uint64_t skipped = begin % alignment == 0 ? 0 : alignment - begin % alignment;
    if (end - begin < skipped || end - begin - skipped < bytes) continue;
    const uint64_t address = begin + skipped;
    free_.erase(range);
    if (skipped > 0) free_[begin] = address;
    if (address + bytes < end) free_[address + bytes] = end;
    taken_[address] = address + bytes;
    return address;
  }
  return absl::ResourceExhaustedError(StrCat(bytes, " bytes of DRAM were asked for; of ", size_, ", ", free_bytes(),
                                             " are free, ", largest_free_bytes(),
                                             " of them in one piece: free buffers, or open a machine with more"));
}

absl::Status DramAllocator::Free(uint64_t address) {
  const auto taken = taken_.find(address);
  if (taken == taken_.end())
    return absl::InvalidArgumentError(
        StrCat("nothing was allocated at DRAM address ", address, ", or it is free again"));
  auto [begin, end] = *taken;
  taken_.erase(taken);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    free_[begin] = end;
  }
  return absl::OkStatus();
}

bool DramAllocator::Holds(uint64_t address, uint64_t bytes) const {
  auto range = taken_.upper_bound(address);
  if (range == taken_.begin()) return false;
  --range;
  return address <= range->second && bytes <= range->second - address;
}

uint64_t DramAllocator::free_bytes() const {
  uint64_t sum = 0;
  for (const auto& [begin, end] : free_) sum += end - begin;
  return sum;
}

uint64_t DramAllocator::largest_free_bytes() const {
  uint64_t largest = 0;
  for (const auto& [begin, end] : free_) largest = std::max(largest, end - begin);
  return largest;
}

}  // namespace smelt::vdla::driver
