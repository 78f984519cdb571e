// A fused module as a planned program with the code of its kernels: what an executable runs, and a deployable module
// keeps.
//
//   CompiledProgram compiled = CompileProgram(fused_module, target, {}).value();
//   std::unique_ptr<runtime::Execution> execution;
//   runtime::Execution::Create(compiled.program, compiled.jobs, target.threads, &execution);
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "fusion/kernel.h"
#include "hlo/module.h"
#include "runtime/execution.h"
#include "runtime/native/plan.h"
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
  std::function<absl::Status(absl::Span<const void* const> inputs, absl::Span<void* const> outputs, int threads,
                             const std::atomic<bool>* cancel)>
      run;
  std::string way, trace;  // KernelInfo's `tile` and `trace`
};

struct ExecutableOptions {
  KernelCache* cache = nullptr;
  const std::atomic<bool>* cancel = nullptr;  // looked at before each kernel: compiling ends with a Cancelled error
  // Schedules by canonical kernel hash; other kernels take their default. One that cannot be compiled is Compile's
  // error.
  absl::flat_hash_map<Hash128, kernels::config::ScheduleChoice> schedules;
  // Where the module is one kernel of some program: fusion::Kernel::distances. Empty: it is a program.
  std::vector<int64_t> distances;
  // Where given, each distinct kernel is offered to it first; null: it runs here. An error is Compile's. Called by
  // several threads at a time.
  std::function<absl::StatusOr<std::optional<ElsewhereKernel>>(const fusion::Kernel&)> elsewhere;
};

// One distinct kernel, as it was compiled.
struct CompiledJob {
  std::shared_ptr<const fusion::Kernel> source;
  std::shared_ptr<const CompiledKernel> code;   // null: one of the others
  std::optional<runtime::native::Plan> native;  // what its operation is made of
  std::string opaque_reason;                    // why it is neither
  CompileOptions options;                       // with which `code` was compiled
};

struct CompiledProgram {
  runtime::Program program;
  std::vector<hlo::Shape> inputs, outputs;  // array leaves of the parameters and of the result
  std::vector<runtime::ProgramJob> jobs;    // Step::job counts these
  std::vector<CompiledJob> compiled;        // the same
  std::vector<KernelInfo> kernels;          // Step::info counts these
};

// Whether some kernel's code uses the registers of AMX.
bool UsesTiles(const CompiledProgram& compiled);

// Errors: BuildProgram's; those of ExecutableOptions::elsewhere.
absl::StatusOr<CompiledProgram> CompileProgram(const hlo::Module& module, const Target& target,
                                               const ExecutableOptions& options);

}  // namespace smelt::cpu
