#include "runtime/run_kernel.h"

#include "base/float_mode.h"

namespace smelt::runtime {

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
