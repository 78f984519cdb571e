// A compiled program: kernels, opaque operations and control flow over one planned arena.
//
//   auto executable = Executable::Compile(fused_module, target, options).value();
//   std::vector<hlo::Literal> outputs = executable->Run(arguments).value();   // leaves of the result, in order
//
// Each instruction of an executed computation that is a fusion, or does arithmetic, is one kernel. An instruction
// without a loop nest runs as a native operation of the runtime, or, where there is none for it, as an opaque operation
// through the evaluator; kernels() says which and why.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/kernel.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "runtime/execution.h"
#include "targets/cpu/codegen/target.h"
#include "targets/cpu/compile/compile.h"

namespace smelt::cpu {

struct KernelInfo {
  std::string name;         // of the instruction in the fused module
  std::string computation;  // in which it stands
  Hash128 hash;             // canonical kernel hash
  bool native = false;
  bool opaque = false;
  std::string opaque_reason;  // why it is no loop nest, and no native operation
  double flops = 0;
  double bytes = 0;  // read plus written
  std::string tile;
  std::string trace;
  double compile_seconds = 0;
};

// A kernel that another device runs: an accelerator beside this CPU.
struct ElsewhereKernel {
  runtime::OpaqueOperation run;
  std::string way, trace;  // KernelInfo's `tile` and `trace`
};

struct ExecutableOptions {
  KernelCache* cache = nullptr;
  // Schedules by canonical kernel hash; other kernels take their default. One that cannot be compiled is Compile's
  // error.
  absl::flat_hash_map<Hash128, kernels::config::ScheduleChoice> schedules;
  // Where given, each distinct kernel is offered to it first; null: it runs here. An error is Compile's. Called by
  // several threads at a time.
  std::function<absl::StatusOr<std::optional<ElsewhereKernel>>(const fusion::Kernel&)> elsewhere;
};

using runtime::RunOptions;  // its entries of kernel_seconds are those of Executable::kernels()

class Executable {
 public:
  virtual ~Executable() = default;
  static absl::StatusOr<std::unique_ptr<Executable>> Compile(const hlo::Module& module, const Target& target,
                                                             const ExecutableOptions& options);

  virtual const std::vector<KernelInfo>& kernels() const = 0;
  virtual double compile_seconds() const = 0;
  virtual int64_t arena_bytes() const = 0;
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
