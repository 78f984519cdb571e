#include "sim/dma.h"

#include <algorithm>

namespace smelt::sim {

using vdla::isa::Config;
using vdla::isa::Instruction;

DmaRequests::DmaRequests(const Instruction& i, const Config& config)
    : row_cycles_(config.timing.row_cycles), burst_(config.timing.burst_bytes) {
  const int64_t element = config.DramElementBytes(i.memory), width = static_cast<int64_t>(SramRowElementsOf(i));
  const auto cycles = [&](int64_t elements) {
    return (elements + config.timing.pad_elements_per_cycle - 1) / config.timing.pad_elements_per_cycle;
  };
  first_pad_ = cycles(i.y_pad_before * width);
  tail_ = cycles(i.y_pad_after * width);
  row_pad_ = cycles(int64_t{i.x_pad_before} + i.x_pad_after);
  address_ = i.dram_base * element;
  if (i.x_size == 0 || i.y_size == 0) {  // nothing is read: rows of padding alone
    tail_ += first_pad_ + i.y_size * row_pad_;
    first_pad_ = row_pad_ = 0;
    return;
  }
  rows_ = i.y_size;
  row_bytes_ = i.x_size * element;
  row_stride_ = i.x_stride * element;
  if (row_pad_ == 0 && i.x_stride == i.x_size && rows_ > 1) {
    row_bytes_ *= rows_;
    rows_ = 1;
  }
}

bool DmaRequests::Next(DmaRequest* request) {
  if (row_ == rows_) return false;
  request->wait = 1;
  if (offset_ == 0) request->wait += row_cycles_ + row_pad_ + (row_ == 0 ? first_pad_ : 0);
  const int64_t at = address_ + row_ * row_stride_ + offset_;
  request->bytes = std::min(row_bytes_ - offset_, burst_ - at % burst_);
  offset_ += request->bytes;
  if (offset_ == row_bytes_) {
    offset_ = 0;
    ++row_;
  }
  return true;
}

int64_t DmaRequests::CountRequests() const {
  int64_t count = 0;
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t begin = address_ + row * row_stride_;
    count += (begin + row_bytes_ - 1) / burst_ - begin / burst_ + 1;
  }
  return count;
}

}  // namespace smelt::sim
