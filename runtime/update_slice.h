// dynamic-update-slice in place: copies rows.
#pragma once

#include <cstdint>

#include "runtime/program.h"

namespace smelt::runtime {

inline constexpr int64_t kMaxUpdateRank = 64;

// Writes `values` into `array` at `starts` (one scalar buffer a dimension, or one vector, of the update's index type),
// moved so that the slice lies inside, as HLO says. At most kMaxUpdateRank dimensions.
void UpdateSliceInPlace(const SliceUpdate& update, void* array, const void* values, const void* const* starts);

}  // namespace smelt::runtime
