// A kernel: a computation of its own that runs in one piece, cut out of a program, with its canonical hash.
//
//   for (const hlo::Instruction* i : fused.entry()->PostOrder()) {
//     if (!IsKernel(*i)) continue;
//     Kernel kernel = ExtractKernel(*i).value();
//     // i's operand kernel.operands[p] is the kernel's parameter p
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/hash.h"
#include "hlo/module.h"

namespace smelt::fusion {

// The entry computation of `module` is the kernel: parameters in order of first use in the kernel's post order, a root
// that is an array, or a tuple of the outputs. Equal kernels have equal hashes wherever they come from, whatever their
// names. Parameters that the kernel does not use are left out.
struct Kernel {
  std::unique_ptr<hlo::Module> module;
  Hash128 hash;
  std::string name;               // of the instruction that it was cut from
  std::vector<int64_t> operands;  // parameter p of the kernel is operand operands[p] of that instruction
  // Array leaves of its parameters, by number, that are known before the program runs: constants, and parameters that
  // are marked so. No part of the hash.
  std::vector<int64_t> known;
  // How far away each array leaf of its parameters lies, then each of its results: the bytes that its program touches
  // between this kernel's use of it and the one before (hlo/passes/reuse_distance.h); 0: near. Empty: all are. No part
  // of the hash.
  std::vector<int64_t> distances;

  const hlo::Computation& computation() const { return *module->entry(); }
};

// InvalidArgument: distances that are not one for each array leaf of the parameters and of the results, nor none at
// all.
absl::Status CheckDistances(const hlo::Computation& kernel, absl::Span<const int64_t> distances);

// What a kernel's time goes by: the hash, and where some of its arrays are far, their distances in powers of two.
Hash128 TimedHash(const Kernel& kernel);

// Whether the executor runs this instruction as a kernel: not a parameter, constant, tuple, get-tuple-element, control
// flow, after-all and the like.
bool IsKernel(const hlo::Instruction& instruction);
bool IsKernel(hlo::Opcode opcode);

// Whether the result is the same bytes as the operand: a reshape, a copy, a bitcast between orders that agree. Where it
// stands alone the executor runs nothing for it.
bool KeepsBytes(const hlo::Instruction& instruction);
// Whether a kernel is such an instruction alone.
bool IsFree(const hlo::Computation& kernel);

// The kernel of one instruction of a (fused) module: a fusion's computation, with nested fusions and calls inlined, or
// the instruction alone. Scalar constants that it reads come along inside. Linear in the kernel. Errors: an instruction
// that is no kernel, or a fusion whose computation does not fit it.
// `layouts`: whether layouts count in the hash, as they do where the rules of the space say so (Rules::layouts_count).
absl::StatusOr<Kernel> ExtractKernel(const hlo::Instruction& instruction, bool layouts = false);

// How often a program has a kernel.
struct KernelCount {
  int64_t stands = 0;  // in its text
  double runs = 0;     // while it runs once, as far as the text tells (hlo::ExecutionCounts)
};

// All kernels of the executed computations, each distinct hash once, in order of first appearance, and the count of
// each where `counts` is given. Known is of each what is known wherever it stands.
absl::StatusOr<std::vector<Kernel>> ExtractKernels(const hlo::Module& module,
                                                   std::vector<KernelCount>* counts = nullptr);

// The kernel of this name, of the fusion that is named after a main instruction of this name (`fusion.NAME`), or of
// this hash. Null: none.
Kernel* FindKernel(std::vector<Kernel>& kernels, std::string_view name);

}  // namespace smelt::fusion
