// The requests of one DMA instruction in the order in which its unit issues them: rows, cut at multiples of the longest
// burst, with the cycles that pass before each.
//
//   DmaRequests requests(instruction, config);
//   for (DmaRequest request; requests.Next(&request);) total += request.bytes;
#pragma once

#include <cstdint>

#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::sim {

struct DmaRequest {
  int64_t wait = 0;   // cycles from the request before, or from the start: 1, the start of a row, padding
  int64_t bytes = 0;  // at most burst_bytes
};

class DmaRequests {
 public:
  DmaRequests(const vdla::isa::Instruction& instruction, const vdla::isa::Config& config);
  // False: there are no more; `tail()` cycles of padding follow the last one.
  bool Next(DmaRequest* request);
  int64_t tail() const { return tail_; }

  int64_t rows() const { return rows_; }  // in DRAM; those without a gap between them are one
  int64_t total_bytes() const { return rows_ * row_bytes_; }
  int64_t pad_cycles() const { return first_pad_ + tail_ + rows_ * row_pad_; }
  // All requests together: how many, and the cycles before them.
  int64_t CountRequests() const;
  int64_t issue_cycles() const { return first_pad_ + rows_ * (row_pad_ + row_cycles_); }

 private:
  int64_t rows_ = 0, row_bytes_ = 0, row_stride_ = 0, address_ = 0;
  int64_t first_pad_ = 0, row_pad_ = 0, tail_ = 0;  // cycles of padding: at the start, in each row, at the end
  int64_t row_cycles_ = 0, burst_ = 1;
  int64_t row_ = 0, offset_ = 0;
};

}  // namespace smelt::sim
