// Subnormal numbers as zero while kernels run, as XLA does on a CPU and the evaluator with it. It also keeps numbers
// that underflow from costing a hundred cycles each.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace smelt::runtime {

// Sets the calling thread's mode for the lifetime of the object.
class ScopedFlushSubnormals {
 public:
#if defined(__x86_64__)
  ScopedFlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kSubnormalsAreZero); }
  ~ScopedFlushSubnormals() { _mm_setcsr(saved_); }

 private:
  static constexpr unsigned kFlushToZero = 0x8000;
  static constexpr unsigned kSubnormalsAreZero = 0x0040;
  unsigned saved_;
#else
  ScopedFlushSubnormals() {}
#endif

 public:
  ScopedFlushSubnormals(const ScopedFlushSubnormals&) = delete;
  ScopedFlushSubnormals& operator=(const ScopedFlushSubnormals&) = delete;
};

}  // namespace smelt::runtime
