// Fourier transforms over the last dimensions of an array.
//
//   const auto transform = MakeFft({.kind = FftKind::kForward, .lengths = {64}, .batch = 8});
//   const int64_t scratch_bytes = transform->ScratchBytes(2);   // on two threads
#pragma once

#include <memory>
#include <vector>

#include "runtime/native_operation.h"

namespace smelt::runtime::native {

enum class FftKind : uint8_t {
  kForward,
  kInverse,      // divided by the number of values
  kRealForward,  // real to the half spectrum: last / 2 + 1 of the last dimension
  kRealInverse,  // half spectrum to real; the imaginary parts of what must be real are not read
};

struct FftPlan {
  FftKind kind = FftKind::kForward;
  bool f64 = false;              // c128 and f64; else c64 and f32
  std::vector<int64_t> lengths;  // of the transformed dimensions, each at least 1
  int64_t batch = 1;             // product of the other, outer dimensions
};

// inputs: the array; outputs: the result. Computed in the element's own precision.
std::unique_ptr<NativeOperation> MakeFft(const FftPlan& plan);

}  // namespace smelt::runtime::native
