#include "measure/placed_array.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace smelt::measure {
namespace {

constexpr size_t kPage = 4096;
// 17 cache lines: of the arrays of one kernel no two are close, and a page has a place for 64.
constexpr size_t kGap = 17 * 64;

}  // namespace

void PlacedArray::Free::operator()(void* block) const { std::free(block); }

absl::StatusOr<PlacedArray> PlacedArray::Create(int64_t bytes, int64_t number) {
  PlacedArray array;
  array.block_.reset(std::calloc(static_cast<size_t>(bytes) + 2 * kPage, 1));
  if (array.block_ == nullptr) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  const uintptr_t start = reinterpret_cast<uintptr_t>(array.block_.get());
  const uintptr_t page = (start + kPage - 1) / kPage * kPage;
  array.data_ = reinterpret_cast<std::byte*>(page + static_cast<size_t>(number) * kGap % kPage);
  array.size_ = bytes;
  return array;
}

}  // namespace smelt::measure
