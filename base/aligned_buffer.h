// Memory of a running program: what its values, its packed weights and the scratch of its kernels lie in.
#pragma once

#include <cstdint>

namespace smelt {

// Whether buffers of kLeastBytesInLargePages and more lie in large pages (base/large_pages.h), rounded up to whole
// ones.
enum class Pages : uint8_t { kLarge, kUsual };
inline constexpr int64_t kLeastBytesInLargePages = int64_t{1} << 20;

// Memory aligned for vectors and kernels, freed with the object. Null when size is 0 or there is none.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(int64_t bytes, Pages pages = Pages::kLarge);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  ~AlignedBuffer();
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
};

}  // namespace smelt
