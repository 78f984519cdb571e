#include "runtime/update_slice.h"

#include <algorithm>
#include <cstring>

namespace smelt::runtime {
namespace {

int64_t ReadIndex(const SliceUpdate& update, const void* data) {
  const auto read = [&](auto zero) {
    std::memcpy(&zero, data, sizeof(zero));
    return zero;
  };
  const bool is_signed = update.index_is_signed;
  switch (update.index_bytes) {
    case 1:
      return is_signed ? int64_t{read(int8_t{})} : read(uint8_t{});
    case 2:
      return is_signed ? int64_t{read(int16_t{})} : read(uint16_t{});
    case 4:
      return is_signed ? int64_t{read(int32_t{})} : read(uint32_t{});
    default:
      return is_signed ? read(int64_t{}) : static_cast<int64_t>(std::min<uint64_t>(read(uint64_t{}), INT64_MAX));
  }
}

}  // namespace

void UpdateSliceInPlace(const SliceUpdate& update, void* array, const void* values, const void* const* starts) {
  const int64_t rank = static_cast<int64_t>(update.dimensions.size());
  const int64_t element = update.element_bytes;
  const std::vector<int64_t>& sizes = update.sizes;
  // Innermost dimensions that are overwritten whole belong to one run of bytes.
  int64_t outer = rank;
  int64_t run = element;
  while (outer > 0) {
    --outer;
    run *= sizes[outer];
    if (sizes[outer] != update.dimensions[outer]) break;
  }
  char* to = static_cast<char*>(array);
  int64_t stride = element;
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t limit = update.dimensions[i] - sizes[i];
    const void* start = update.one_vector ? static_cast<const char*>(starts[0]) + i * update.index_bytes : starts[i];
    to += std::clamp<int64_t>(ReadIndex(update, start), 0, limit) * stride;
    stride *= update.dimensions[i];
  }
  // A row of an array, in a loop of small kernels, is one run.
  if (std::all_of(sizes.begin(), sizes.begin() + outer, [](int64_t size) { return size == 1; })) {
    std::memcpy(to, values, run);
    return;
  }
  // An odometer over the dimensions outside the run, without allocating for ranks that occur.
  int64_t index[kMaxUpdateRank], strides[kMaxUpdateRank];
  std::fill_n(index, rank, 0);
  stride = element;
  for (int64_t i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= update.dimensions[i];
  }
  const char* from = static_cast<const char*>(values);
  while (true) {
    std::memcpy(to, from, run);
    from += run;
    int64_t i = outer - 1;
    for (; i >= 0; --i) {
      to += strides[i];
      if (++index[i] < sizes[i]) break;
      to -= strides[i] * sizes[i];
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

}  // namespace smelt::runtime
