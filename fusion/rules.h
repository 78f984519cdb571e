// What may share a kernel: data that a target fills. Every limit of legality is a figure here.
//
//   Rules rules = Rules::OwnKernels();
//   rules.recompute_factor = 4;
//   Space space = Space::Build(module, rules).value();
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "base/hash.h"
#include "hlo/instruction.h"
#include "hlo/module.h"

namespace smelt::fusion {

enum class Role : uint8_t {
  kOutside,      // parameters, large constants, tuples, control flow: no kernel
  kFree,         // a free rider
  kInjective,    // elementwise and data movement
  kReduction,    // reduce, reduce-window
  kContraction,  // dot, scaled-dot, convolution
  kOpaque,       // a kernel of its own, without a loop nest
};

// The role of an opcode's instructions that have a loop nest (hlo/loop_nest.h); those that have none are opaque.
Role RoleOf(hlo::Opcode opcode);
// The role of an instruction where Smelt's own compiler makes the kernels.
Role OwnRoleOf(const hlo::Instruction& instruction);

struct Rules {
  std::string name = "cpu";  // kind of the targets whose rules these are (TargetId::kind)

  // The role of an instruction that is a kernel.
  Role (*role)(const hlo::Instruction& instruction) = OwnRoleOf;
  // Instructions that must come when they do, and so are fused into no consumer: where memory is written over after
  // fusion was decided. Null: none.
  absl::flat_hash_set<const hlo::Instruction*> (*ordered)(const hlo::Module& module) = nullptr;
  // Whether rows and tiles are kept inside a kernel. Otherwise each element of the result is computed anew, by one loop
  // over the result, whatever is reduced in it.
  bool keeps_rows = true;
  // Whether layouts decide what a kernel does, and so count in its hash.
  bool layouts_count = false;

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

  // Operations for one element that may be repeated for every reader, however many.
  double repeated_work = 0;

  // The code generator reads the operands of a contraction through data movement and cheap elementwise work.
  bool reads_through_contraction_operands = true;
  // Reshapes, transpositions and copies of a contraction's operands, and of its result before and after elementwise
  // work, stand in its kernel: what packs its arrays does them on the way.
  bool moves_arrays_of_contractions = false;
  // Operands from this size on make siblings of the kernels that read them.
  int64_t sibling_bytes = 4 << 10;
  // Concatenations of more operands are never fused into their consumers.
  int max_concatenate_operands = 8;

  // Indices at which one instruction may be read in a kernel, where its code stands there for each; 0: it stands there
  // once. Outputs of one kernel then run one loop.
  int max_evaluations = 0;

  // The machine of the built-in cost (fusion/kernel_cost.h), for heuristics that are given no better one.
  double flops_per_second = 5e10;
  double element_operations_per_second = 8e9;
  double cache_bytes_per_second = 1e11;  // values of up to cache_bytes
  double memory_bytes_per_second = 2e10;
  int64_t cache_bytes = 1 << 20;
  double launch_seconds = 1e-6;

  static Rules OwnKernels() { return {}; }
  // Covers everything that decides what is legal: spaces of equal hash and module have the same decisions.
  Hash128 Hash() const;
};

// Operations that one element of the result takes, with an addition as 1: data movement 0, a transcendental 8.
double ElementCost(const hlo::Instruction& instruction);

}  // namespace smelt::fusion
