// Work on the parts of a range, one thread a part.
//
//   std::vector<int> squares(100);
//   SideBySide(100, /*threads=*/2, [&](int64_t begin, int64_t end, int) {
//     for (int64_t i = begin; i < end; ++i) squares[i] = i * i;
//   });
//
// How a range is divided follows from its size and the number of threads alone, never from their speed.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace smelt::tuner {

// Returns when all parts are done. `work` must not throw; the last argument numbers the part.
void SideBySide(int64_t count, int threads, absl::FunctionRef<void(int64_t begin, int64_t end, int part)> work);

// Cores that this process may use, at most `most`.
int UsableThreads(int most);

}  // namespace smelt::tuner
