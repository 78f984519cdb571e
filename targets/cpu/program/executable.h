// A compiled program: kernels, opaque operations and control flow over one planned arena.
//
//   auto executable = Executable::Compile(fused_module, target, options).value();
//   std::vector<hlo::Literal> outputs = executable->Run(arguments).value();   // leaves of the result, in order
//
// Each instruction of an executed computation that is a fusion, or does arithmetic, is one kernel. An instruction
// without a loop nest runs as a native operation of the runtime, or, where there is none for it, as an opaque operation
// through the evaluator; kernels() says which and why. What follows from known inputs alone (hlo/known/) is computed in
// the first run and kept: later runs must be given the same values at the same addresses, or other addresses.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "runtime/execution.h"
#include "targets/cpu/program/compiled_program.h"

namespace smelt::cpu {

using runtime::RunOptions;  // its entries of kernel_seconds are those of Executable::kernels()

class Executable {
 public:
  virtual ~Executable() = default;
  static absl::StatusOr<std::unique_ptr<Executable>> Compile(const hlo::Module& module, const Target& target,
                                                             const ExecutableOptions& options);

  virtual const std::vector<KernelInfo>& kernels() const = 0;
  virtual double compile_seconds() const = 0;
  virtual int64_t arena_bytes() const = 0;
  // Memory of what was computed once from known inputs, and how often that was: once, unless they moved.
  virtual int64_t kept_bytes() const = 0;
  virtual int64_t setups() const = 0;
  // Inputs: one literal an array leaf of the parameters; tokens have none. Not thread-safe: the arena is one.
  virtual absl::StatusOr<std::vector<hlo::Literal>> Run(absl::Span<const hlo::Literal* const> inputs,
                                                        const RunOptions& options = {}) = 0;
  // Does what Run does, with results in buffers of the caller (64-byte aligned, of each output leaf's byte size): what
  // timing loops call, no allocation. InvalidArgument where an output shares memory with another output or with an
  // input; inputs may be one another. Results may be computed in place in the outputs' buffers, which hold nothing of
  // use when the run fails.
  virtual absl::Status RunInto(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                               const RunOptions& options = {}) = 0;
};

}  // namespace smelt::cpu
