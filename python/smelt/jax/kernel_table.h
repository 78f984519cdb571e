// Kernels of a folder as its shared library holds them: what `smelt embed` writes as C (tuner/embed/link_table.h).
#pragma once

#include <cstdint>

namespace smelt {

inline constexpr int64_t kTableVersion = 1;

// Iterations [begin, end) of one phase. Buffers: inputs, outputs, shared scratch, each aligned to kAlignment.
using PhaseFunction = void(void* const* buffers, void* thread_scratch, int64_t begin, int64_t end);

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
  const Phase* phases;
};

inline constexpr uintptr_t kAlignment = 64;

}  // namespace smelt
