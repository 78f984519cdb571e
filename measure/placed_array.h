// An array at a given place of its memory page.
//
// Arrays of whole pages mostly begin at the same place of a page; a kernel that walks over several of them in step then
// finds them in the same few sets of the cache, and takes up to twice its time. Whether they do must not follow from
// what was allocated before: the arrays of a program that is timed have places by their number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "base/aligned_buffer.h"

namespace smelt::measure {

class PlacedArray {
 public:
  // Room for `bytes` bytes, zeroed, at place `number` of a page. `pages`: those of a program's own values, or of what
  // its callers have. ResourceExhausted when there is no memory.
  static absl::StatusOr<PlacedArray> Create(int64_t bytes, int64_t number, Pages pages);

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }

 private:
  AlignedBuffer block_;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace smelt::measure
