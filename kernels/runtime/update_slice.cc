#include "kernels/runtime/update_slice.h"

#include <algorithm>
#include <cstring>

namespace smelt::kernels::runtime {
namespace {

int64_t ReadIndex(hlo::PrimitiveType type, const void* data) {
  auto read = [&](auto zero) {
    std::memcpy(&zero, data, sizeof(zero));
    return zero;
  };
  switch (type) {
    case hlo::PrimitiveType::kS8:
      return read(int8_t{});
    case hlo::PrimitiveType::kU8:
      return read(uint8_t{});
    case hlo::PrimitiveType::kS16:
      return read(int16_t{});
    case hlo::PrimitiveType::kU16:
      return read(uint16_t{});
    case hlo::PrimitiveType::kU32:
      return read(uint32_t{});
    case hlo::PrimitiveType::kS64:
      return read(int64_t{});
    case hlo::PrimitiveType::kU64:
      return static_cast<int64_t>(std::min<uint64_t>(read(uint64_t{}), INT64_MAX));
    default:
      return read(int32_t{});
  }
}

}  // namespace

void UpdateSliceInPlace(const SliceUpdate& update, void* array, const void* values, const void* const* starts) {
  const int64_t rank = update.shape.rank();
  const int64_t element = hlo::StorageBytes(update.shape.element_type);
  const std::vector<int64_t>& sizes = update.update.dimensions;
  // Innermost dimensions that are overwritten whole belong to one run of bytes.
  int64_t outer = rank;
  int64_t run = element;
  while (outer > 0) {
    --outer;
    run *= sizes[outer];
    if (sizes[outer] != update.shape.dimensions[outer]) break;
  }
  char* to = static_cast<char*>(array);
  int64_t stride = element;
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t limit = update.shape.dimensions[i] - sizes[i];
    const void* start =
        update.one_vector ? static_cast<const char*>(starts[0]) + i * hlo::StorageBytes(update.index_type) : starts[i];
    to += std::clamp<int64_t>(ReadIndex(update.index_type, start), 0, limit) * stride;
    stride *= update.shape.dimensions[i];
  }
  // An odometer over the dimensions outside the run, without allocating for ranks that occur.
  int64_t index[kMaxUpdateRank] = {};
  int64_t strides[kMaxUpdateRank];
  stride = element;
  for (int64_t i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= update.shape.dimensions[i];
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

}  // namespace smelt::kernels::runtime
