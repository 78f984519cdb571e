// What one instruction does to a machine, at once and bit by bit: the only place that computes, for every timing.
//
//   Executor executor(*machine);
//   absl::Status done = executor.Execute(instruction, /*number=*/7);
//
// A trap is OutOfRange and names the instruction; what its earlier micro-ops or rows did stays done.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "sim/gemm_kernel.h"
#include "sim/machine.h"
#include "vdla/isa/instruction.h"

namespace smelt::sim {

class Executor {
 public:
  // The machine must outlive it.
  explicit Executor(Machine& machine);

  // OutOfRange: an index outside a memory or DRAM. DeadlineExceeded: `stop` said so; it is asked now and then within a
  // long one.
  absl::Status Execute(
      const vdla::isa::Instruction& instruction, int64_t number, absl::FunctionRef<bool()> stop = [] { return false; });

  // The micro-ops of a GEMM or ALU as they stand in the memory now, cut off at its end. They are valid until the next
  // call of either.
  absl::Span<const vdla::isa::MicroOp> MicroOps(const vdla::isa::Instruction& instruction);

 private:
  absl::Status Load(const vdla::isa::Instruction& i, int64_t number);
  absl::Status Store(const vdla::isa::Instruction& i, int64_t number);
  absl::Status Nest(const vdla::isa::Instruction& i, int64_t number, absl::FunctionRef<bool()> stop);
  void Pad(vdla::isa::Memory memory, uint64_t element, uint64_t count, int32_t value);
  void Copy(vdla::isa::Memory memory, uint64_t element, uint64_t count, const uint8_t* from);

  Machine& machine_;
  const GemmBlock block_;
  const GemmKernel gemm_;
  std::vector<vdla::isa::MicroOp> micro_ops_;
  std::vector<GemmStep> steps_;
};

// `instruction 7 (LOAD INP)`, as all messages name it.
std::string Describe(const vdla::isa::Instruction& instruction, int64_t number);

}  // namespace smelt::sim
