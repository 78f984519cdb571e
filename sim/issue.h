// When the micro-ops of a GEMM issue: one a cycle, but none less than gemm_raw_distance cycles after another one on the
// same accumulator.
//
//   int64_t stalls = GemmStalls(instruction, micro_ops, config);
//   int64_t cycles = ComputeCycles(instruction, micro_ops, config);
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "vdla/isa/config.h"
#include "vdla/isa/instruction.h"

namespace smelt::sim {

// Cycles in which a micro-op of an accumulating or overwriting GEMM waits; 0 for a reset. `micro_ops` holds the
// instruction's own (Executor::MicroOps). Where `stop` says so, which is asked now and then, only those so far.
int64_t GemmStalls(
    const vdla::isa::Instruction& instruction, absl::Span<const vdla::isa::MicroOp> micro_ops,
    const vdla::isa::Config& config, absl::FunctionRef<bool()> stop = [] { return false; });
// Cycles of a GEMM or an ALU: micro-ops, stalls (also alone, where asked for), drain.
int64_t ComputeCycles(
    const vdla::isa::Instruction& instruction, absl::Span<const vdla::isa::MicroOp> micro_ops,
    const vdla::isa::Config& config, int64_t* stalls = nullptr, absl::FunctionRef<bool()> stop = [] { return false; });

}  // namespace smelt::sim
