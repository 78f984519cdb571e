// Memory of a running program: what its values, its packed weights and the scratch of its kernels lie in.
#pragma once

#include <cstdint>

namespace smelt::runtime {

// Whether a buffer of kLeastBytesInHugePages or more lies in pages of 2 MiB, rounded up to whole ones, where Linux has
// them (`transparent_hugepage` is `madvise` or `always`): what is read once a call waits for translations of addresses
// as much as for memory, and no prefetcher of a processor crosses a page.
enum class Pages : uint8_t { kLarge, kUsual };
inline constexpr int64_t kHugePageBytes = int64_t{2} << 20;
inline constexpr int64_t kLeastBytesInHugePages = int64_t{1} << 20;

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

}  // namespace smelt::runtime
