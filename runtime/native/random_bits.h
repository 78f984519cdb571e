// Random bits by counters: ThreeFry-2x32 with 20 rounds and Philox-4x32 with 10, laid out as XLA does.
//
// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <memory>
#include <vector>

#include "runtime/native_operation.h"

namespace smelt::runtime::native {

struct RandomBitsPlan {
  bool three_fry = true;  // else Philox
  int64_t state_words = 2;
  int64_t element_bytes = 4;  // 1, 2, 4 or 8
  std::vector<int64_t> dimensions;
};

// inputs: the state, u64 words; outputs: the state afterwards, and the bits.
std::unique_ptr<NativeOperation> MakeRandomBits(const RandomBitsPlan& plan);

}  // namespace smelt::runtime::native
