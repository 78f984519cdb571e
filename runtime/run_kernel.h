// Calls a kernel: its phases in order, each split over the pool's threads, with a barrier between them.
#pragma once

#include <cstdint>

#include "runtime/kernel_code.h"
#include "runtime/thread_pool.h"

namespace smelt::runtime {

// Some of a kernel's phases: a bit each. Phases beyond the sixty-fourth are among `kAllPhases` alone.
using PhaseSet = uint64_t;
inline constexpr PhaseSet kAllPhases = ~PhaseSet{0};
inline constexpr int64_t kPhasesOfSet = 64;

// `buffers`: inputs, outputs, shared scratch, each 64-byte aligned; none of the outputs overlaps another buffer.
// `thread_scratch`: threads() pieces of `scratch_stride` bytes, which is a multiple of 64 and at least what the
// descriptor asks for; may be null where it asks for nothing. `skipped`: phases that do not run. Allocates nothing.
void RunKernel(const KernelCode& kernel, void* const* buffers, char* thread_scratch, int64_t scratch_stride,
               ThreadPool& pool, PhaseSet skipped = 0);

}  // namespace smelt::runtime
