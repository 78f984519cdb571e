// An operation that has no loop nest (a sort, a Fourier transform, a scatter), planned once and run on raw buffers.
//
// What implements it is in runtime/native: a plan is a plain structure of shapes, dimension numbers and element types,
// and becomes an operation with everything that does not depend on data (twiddle factors, strides) in place. Whoever
// plans checks: no operation can fail. Arrays are row-major and dense. Results depend neither on the number of threads
// nor on the vectors of the processor.
#pragma once

#include <cstdint>

#include "runtime/thread_pool.h"

namespace smelt::runtime {

struct NativeCall {
  const void* const* inputs;
  void* const* outputs;
  ThreadPool* pool;
  char* scratch = nullptr;  // ScratchBytes(pool->threads()) bytes, 64-byte aligned
};

// Immutable; one Run at a time for each scratch.
class NativeOperation {
 public:
  virtual ~NativeOperation() = default;
  virtual int64_t ScratchBytes([[maybe_unused]] int threads) const { return 0; }
  // Allocates nothing.
  virtual void Run(const NativeCall& call) const = 0;
};

}  // namespace smelt::runtime
