// Compiled code of one kernel and how to call it. Knows nothing of LLVM.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace smelt::runtime {

// One phase: iterations [begin, end) of its parallel loop (0, 1 when serial). `buffers` holds inputs, outputs, then
// shared scratch; thread_scratch is 64-byte aligned and private to the calling thread.
using PhaseFunction = void (*)(void* const* buffers, void* thread_scratch, int64_t begin, int64_t end);

struct PhaseDescriptor {
  std::string symbol;
  int64_t extent = 1;  // iterations; 1: serial
  // Which of `buffers` it reads and writes, ascending.
  std::vector<int64_t> reads = {};
  std::vector<int64_t> writes = {};
};

// What the code needs; kept with it in the cache.
struct KernelDescriptor {
  std::string name;
  int64_t input_count = 0;
  int64_t output_count = 0;
  std::vector<int64_t> shared_bytes;  // sizes of shared scratch buffers
  int64_t thread_scratch_bytes = 0;
  std::vector<PhaseDescriptor> phases;
  bool uses_tiles = false;  // the process that runs it has asked for them (tile_permission.h)
};

class KernelCode {
 public:
  KernelCode(KernelDescriptor descriptor, std::vector<PhaseFunction> functions, std::shared_ptr<void> owner)
      : descriptor_(std::move(descriptor)), functions_(std::move(functions)), owner_(std::move(owner)) {}
  const KernelDescriptor& descriptor() const { return descriptor_; }
  // False: it is code for another architecture, of which only the description is here.
  bool is_loaded() const { return functions_.size() == descriptor_.phases.size(); }
  PhaseFunction function(int64_t phase) const { return functions_[phase]; }

 private:
  KernelDescriptor descriptor_;
  std::vector<PhaseFunction> functions_;
  std::shared_ptr<void> owner_;  // keeps the machine code mapped
};

}  // namespace smelt::runtime
