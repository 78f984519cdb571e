#include "runtime/run_kernel.h"

#include <cstdlib>
#include <utility>

#include "base/float_mode.h"

namespace smelt::runtime {

AlignedBuffer::AlignedBuffer(int64_t bytes) {
  if (bytes <= 0 || bytes > INT64_MAX - 63) return;
  data_ = static_cast<char*>(std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)));
}
AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}
AlignedBuffer::~AlignedBuffer() { std::free(data_); }

void RunKernel(const KernelCode& kernel, void* const* buffers, char* thread_scratch, int64_t scratch_stride,
               ThreadPool& pool, PhaseSet skipped) {
  const std::vector<PhaseDescriptor>& phases = kernel.descriptor().phases;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (static_cast<int64_t>(i) < kPhasesOfSet && (skipped >> i & 1) != 0) continue;
    const PhaseFunction function = kernel.function(static_cast<int64_t>(i));
    const int64_t extent = phases[i].extent;
    if (extent <= 1 || pool.threads() == 1) {
      function(buffers, thread_scratch, 0, extent);
      continue;
    }
    struct Call {
      PhaseFunction function;
      void* const* buffers;
      char* scratch;
      int64_t stride;
    } call = {function, buffers, thread_scratch, scratch_stride};
    // One captured pointer: std::function keeps it without allocating.
    pool.ParallelFor(extent, [&call](int worker, int64_t begin, int64_t end) {
      ScopedFlushSubnormals flush;
      call.function(call.buffers, call.scratch + worker * call.stride, begin, end);
    });
  }
}

}  // namespace smelt::runtime
