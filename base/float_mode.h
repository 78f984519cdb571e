// Subnormal numbers as zero while programs run, as XLA does on a CPU: compiled kernels, the evaluator and the
// interpreters alike. It also keeps numbers that underflow from costing a hundred cycles each.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace smelt {

// Sets the calling thread's mode for the lifetime of the object. Does nothing on processors without such a mode.
class ScopedFlushSubnormals {
 public:
  ScopedFlushSubnormals() : saved_(Read()) { Write(saved_ | kFlush); }
  ~ScopedFlushSubnormals() { Write(saved_); }
  ScopedFlushSubnormals(const ScopedFlushSubnormals&) = delete;
  ScopedFlushSubnormals& operator=(const ScopedFlushSubnormals&) = delete;

 private:
#if defined(__SSE__)
  static constexpr uint64_t kFlush = 0x8040;  // results, and what is read
  static uint64_t Read() { return _mm_getcsr(); }
  static void Write(uint64_t mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FZ, both
  static uint64_t Read() {
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void Write(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
  static constexpr uint64_t kFlush = 0;
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif
  uint64_t saved_;
};

}  // namespace smelt
