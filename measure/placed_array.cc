#include "measure/placed_array.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace smelt::measure {
namespace {

constexpr size_t kPage = 4096;
// 17 cache lines: of the arrays of one kernel no two are close, and a page has a place for 64.
constexpr size_t kGap = 17 * 64;

}  // namespace

absl::StatusOr<PlacedArray> PlacedArray::Create(int64_t bytes, int64_t number, Pages pages) {
  PlacedArray array;
  array.block_ = AlignedBuffer(bytes + int64_t{2} * kPage, pages);
  if (array.block_.data() == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  }
  const uintptr_t start = reinterpret_cast<uintptr_t>(array.block_.data());
  const uintptr_t page = (start + kPage - 1) / kPage * kPage;
  array.data_ = reinterpret_cast<std::byte*>(page + static_cast<size_t>(number) * kGap % kPage);
  array.size_ = bytes;
  std::memset(array.data_, 0, static_cast<size_t>(bytes));
  return array;
}

}  // namespace smelt::measure
