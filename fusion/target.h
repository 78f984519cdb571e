// What fusion knows of the machine and of its code generator: every limit of legality is a figure here.
//
//   FusionTarget target = FusionTarget::Cpu();
//   target.recompute_factor = 4;
//   Space space = Space::Build(module, target).value();
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"
#include "hlo/instruction.h"

namespace smelt::fusion {

// Whose code generator runs the kernels.
enum class Emitter : uint8_t {
  kSmelt,   // kernels/: keeps rows and tiles inside a kernel, reads through the operands of contractions
  kXlaCpu,  // XLA's loop fusions (fusion/xla_cpu_emitter.h): keeps nothing
};

struct FusionTarget {
  std::string name = "cpu";
  Emitter emitter = Emitter::kSmelt;

  // Limits of one kernel.
  int max_operands_and_outputs = 64;
  int max_instructions = 256;  // the code size estimate: instructions, free riders included
  int max_depth = 96;          // longest chain of instructions
  int max_reductions = 12;
  int64_t max_scratch_bytes = 256 << 10;  // values that are kept inside the kernel rather than computed again
  int64_t max_row_bytes = 1 << 20;        // one row of a reduction whose consumer needs the row again (softmax)

  // Work that may be repeated for one element of a producer: element operations times the number of times that a
  // consumer reads the element. Beyond it the value must fit the scratch.
  double recompute_factor = 16;
  // The number of kernels in which a reduction may be computed; at most kMaxCopies. A contraction is computed once.
  int reduction_copies = 2;
  static constexpr int kMaxCopies = 3;

  // The code generator reads the operands of a contraction through data movement and cheap elementwise work.
  bool reads_through_contraction_operands = true;
  // Operands from this size on make siblings of the kernels that read them.
  int64_t sibling_bytes = 4 << 10;
  // Concatenations of more operands are never fused into their consumers.
  int max_concatenate_operands = 8;

  // kXlaCpu: indices at which one instruction may be read in a kernel, and for each of which its code stands there.
  int max_evaluations = 15;

  // The machine of the built-in cost (fusion/kernel_cost.h), for heuristics that are given no better one.
  double flops_per_second = 5e10;
  double element_operations_per_second = 8e9;
  double cache_bytes_per_second = 1e11;  // values of up to cache_bytes
  double memory_bytes_per_second = 2e10;
  int64_t cache_bytes = 1 << 20;
  double launch_seconds = 1e-6;

  static FusionTarget Cpu() { return {}; }
  static FusionTarget XlaCpu();
  // Covers everything that decides what is legal: spaces of equal hash and module have the same decisions.
  Hash128 Hash() const;
};

// Operations that one element of the result takes, with an addition as 1: data movement 0, a transcendental 8.
double ElementCost(const hlo::Instruction& instruction);

}  // namespace smelt::fusion
