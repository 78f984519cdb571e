// dynamic-update-slice in place: copies rows.
//
//   const SliceUpdate update{.dimensions = {8, 4}, .sizes = {1, 4}};
//   const SliceWriter writer(update);     // once
//   float array[32] = {}, values[4] = {1, 2, 3, 4};
//   const int32_t line = 3, column = 0;
//   const void* const starts[] = {&line, &column};
//   writer.Write(array, values, starts);  // in every step of a loop
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/program.h"

namespace smelt::runtime {

inline constexpr int64_t kMaxUpdateRank = 64;

// A number or two of a loop's step: without a call.
inline void CopyBytes(void* to, const void* from, int64_t bytes) {
  switch (bytes) {
    case 0:
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    default:
      std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

// What of an update is the same each time. `update` must outlive it; at most kMaxUpdateRank dimensions.
class SliceWriter {
 public:
  explicit SliceWriter(const SliceUpdate& update);

  // Writes `values` into `array` at `starts` (one scalar buffer a dimension, or one vector, of the update's index
  // type), moved so that the slice lies inside, as HLO says.
  void Write(void* array, const void* values, const void* const* starts) const;

 private:
  // A dimension along which the slice may lie at more than one place.
  struct Start {
    int64_t buffer, offset;  // of `starts`, and bytes into it
    int64_t limit;
    int64_t stride;  // bytes
  };
  void WriteRuns(char* to, const char* from) const;

  const SliceUpdate& update_;
  std::vector<Start> starts_;
  int64_t outer_ = 0;     // dimensions outside of a run
  int64_t run_ = 0;       // bytes that follow each other
  bool one_run_ = false;  // a row of an array, in a loop of small kernels, is one run
};

}  // namespace smelt::runtime
