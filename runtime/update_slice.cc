#include "runtime/update_slice.h"

#include <algorithm>
#include <cstring>

namespace smelt::runtime {
namespace {

template <typename T>
T ReadNumber(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

int64_t ReadIndex(const SliceUpdate& update, const void* data) {
  const bool is_signed = update.index_is_signed;
  switch (update.index_bytes) {
    case 1:
      return is_signed ? int64_t{ReadNumber<int8_t>(data)} : ReadNumber<uint8_t>(data);
    case 2:
      return is_signed ? int64_t{ReadNumber<int16_t>(data)} : ReadNumber<uint16_t>(data);
    case 4:
      return is_signed ? int64_t{ReadNumber<int32_t>(data)} : ReadNumber<uint32_t>(data);
    default:
      return is_signed ? ReadNumber<int64_t>(data)
                       : static_cast<int64_t>(std::min<uint64_t>(ReadNumber<uint64_t>(data), INT64_MAX));
  }
}

}  // namespace

SliceWriter::SliceWriter(const SliceUpdate& update) : update_(update) {
  const int64_t rank = static_cast<int64_t>(update.dimensions.size());
  // Innermost dimensions that are overwritten whole belong to one run of bytes.
  outer_ = rank;
  run_ = update.element_bytes;
  while (outer_ > 0) {
    --outer_;
    run_ *= update.sizes[outer_];
    if (update.sizes[outer_] != update.dimensions[outer_]) break;
  }
  one_run_ = std::all_of(update.sizes.begin(), update.sizes.begin() + outer_, [](int64_t size) { return size == 1; });
  int64_t stride = update.element_bytes;
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t limit = update.dimensions[i] - update.sizes[i];
    if (limit > 0) {
      starts_.push_back(update.one_vector ? Start{0, i * update.index_bytes, limit, stride}
                                          : Start{i, 0, limit, stride});
    }
    stride *= update.dimensions[i];
  }
}

void SliceWriter::Write(void* array, const void* values, const void* const* starts) const {
  char* to = static_cast<char*>(array);
  for (const Start& start : starts_) {
    const int64_t index = ReadIndex(update_, static_cast<const char*>(starts[start.buffer]) + start.offset);
    to += std::clamp<int64_t>(index, 0, start.limit) * start.stride;
  }
  if (one_run_) {
    CopyBytes(to, values, run_);
  } else {
    WriteRuns(to, static_cast<const char*>(values));
  }
}

void SliceWriter::WriteRuns(char* to, const char* from) const {
  // An odometer over the dimensions outside the run, without allocating for ranks that occur.
  const int64_t rank = static_cast<int64_t>(update_.dimensions.size());
  int64_t index[kMaxUpdateRank], strides[kMaxUpdateRank];
  std::fill_n(index, rank, 0);
  int64_t stride = update_.element_bytes;
  for (int64_t i = rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= update_.dimensions[i];
  }
  while (true) {
    std::memcpy(to, from, static_cast<size_t>(run_));
    from += run_;
    int64_t i = outer_ - 1;
    for (; i >= 0; --i) {
      to += strides[i];
      if (++index[i] < update_.sizes[i]) break;
      to -= strides[i] * update_.sizes[i];
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

}  // namespace smelt::runtime
