// Compares a lowered schedule, compiled for this machine, with the direct evaluation of its graph.
//
//   absl::StatusOr<kernels::ir::Function> lowered = kernels::lower::Lower(schedule, {});
//   std::string difference = smelt::bench::CompiledDifference(schedule, *lowered, cpu::DetectTarget(false), inputs);
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/float_mode.h"
#include "bench/lowered_agreement.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/processor/detect.h"

namespace smelt::bench {

// Memory that ends (to 64 bytes) at an unreadable page, filled with NaN.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes) : bytes_(bytes) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t used = (bytes + 63) / 64 * 64;
    mapped_ = (used + page - 1) / page * page + page;
    base_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(base_, 0xff, mapped_ - page);
    mprotect(base_ + mapped_ - page, page, PROT_NONE);
    data_ = base_ + mapped_ - page - used;
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { munmap(base_, mapped_); }
  char* data() const { return data_; }
  // Whether the bytes around the buffer are as they were.
  bool Intact() const {
    for (const char* p = base_; p < data_; ++p) {
      if (*p != '\xff') return false;
    }
    for (const char* p = data_ + bytes_; p < data_ + (bytes_ + 63) / 64 * 64; ++p) {
      if (*p != '\xff') return false;
    }
    return true;
  }

 private:
  char* base_;
  char* data_;
  int64_t bytes_, mapped_;
};

// Empty when the compiled function's results are the graph's, to `tolerance` of the largest, and nothing is written
// next to its buffers.
inline std::string CompiledDifference(const kernels::schedule::Schedule& s, const kernels::ir::Function& function,
                                      const cpu::Target& target, std::vector<hlo::Literal> inputs,
                                      double tolerance = 0) {
  auto object = cpu::codegen::EmitObject(function, target);
  if (!object.ok()) return object.status().ToString();
  auto code = cpu::codegen::LoadObject(*object);
  if (!code.ok()) return code.status().ToString();
  std::vector<const hlo::Literal*> pointers;
  for (const hlo::Literal& input : inputs) pointers.push_back(&input);
  const auto want = kernels::te::Evaluate(s.graph(), pointers);
  if (!want.ok()) return want.status().ToString();

  const runtime::KernelDescriptor& descriptor = (*code)->descriptor();
  std::vector<std::unique_ptr<GuardedBuffer>> memory;
  std::vector<void*> buffers;
  const auto add = [&](int64_t bytes) {
    memory.push_back(std::make_unique<GuardedBuffer>(bytes));
    buffers.push_back(memory.back()->data());
  };
  for (const hlo::Literal& input : inputs) {
    add(input.byte_size());
    std::memcpy(buffers.back(), input.raw(), input.byte_size());
  }
  for (const hlo::Literal& output : *want) add(output.byte_size());
  for (const int64_t bytes : descriptor.shared_bytes) add(bytes);
  const GuardedBuffer scratch(descriptor.thread_scratch_bytes);
  const ScopedFlushSubnormals flush;  // as kernels run in a program, and as graphs are evaluated
  for (size_t p = 0; p < descriptor.phases.size(); ++p) {
    // It runs in two pieces, the later one first: iterations are independent.
    const int64_t extent = descriptor.phases[p].extent, half = extent / 2;
    (*code)->function(p)(buffers.data(), scratch.data(), half, extent);
    if (half > 0) (*code)->function(p)(buffers.data(), scratch.data(), 0, half);
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i]->Intact()) return absl::StrCat("bytes next to buffer ", i, " have been written");
  }
  std::vector<hlo::Literal> got;
  for (size_t o = 0; o < want->size(); ++o) {
    got.emplace_back((*want)[o].shape());
    std::memcpy(got.back().raw(), buffers[inputs.size() + o], got.back().byte_size());
  }
  const std::string difference = FirstDifference(*want, got, inputs, tolerance);
  if (difference.empty()) return "";
  return absl::StrCat(difference, "\n", s.ToString(), "\n", kernels::ir::ToString(function));
}

}  // namespace smelt::bench
