// Kernels of a folder as its shared library holds them, for both sides: `smelt embed` writes this text in front of its
// table (targets/xla/embed/link_table.h), which is C, and call.cc reads the library through it.
#ifndef SMELT_KERNEL_TABLE_H_
#define SMELT_KERNEL_TABLE_H_

#include <stdint.h>

#ifdef __cplusplus
namespace smelt {
#endif

// The version changes whenever a structure does. Buffers of a phase are aligned to kAlignment bytes.
enum { kTableVersion = 2, kAlignment = 64 };

// Iterations [begin, end) of one phase. Buffers: inputs, outputs, shared scratch.
typedef void PhaseFunction(void* const* buffers, void* thread_scratch, int64_t begin, int64_t end);

struct Phase {
  PhaseFunction* function;
  int64_t extent;
};

struct Kernel {
  const char* id;
  int64_t inputs, outputs;
  int64_t shared_count;
  const int64_t* shared_bytes;
  int64_t thread_scratch_bytes;
  int64_t phase_count;
  const struct Phase* phases;
};

#ifdef __cplusplus
}  // namespace smelt
#endif

#endif  // SMELT_KERNEL_TABLE_H_
