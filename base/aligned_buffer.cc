#include "base/aligned_buffer.h"

#include <cstdlib>
#include <utility>

#include "base/large_pages.h"

namespace smelt {
namespace {

constexpr int64_t kVectorBytes = 64;

int64_t RoundUp(int64_t bytes, int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

AlignedBuffer::AlignedBuffer(int64_t bytes, Pages pages) {
  if (bytes <= 0 || bytes > INT64_MAX - kLargePageBytes) return;
  const bool is_large = pages == Pages::kLarge && bytes >= kLeastBytesInLargePages;
  const int64_t alignment = is_large ? kLargePageBytes : kVectorBytes;
  const int64_t rounded = RoundUp(bytes, alignment);
  data_ = static_cast<char*>(std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(rounded)));
  if (is_large && data_ != nullptr) PreferLargePages(data_, rounded);
}
AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}
AlignedBuffer::~AlignedBuffer() { std::free(data_); }

}  // namespace smelt
