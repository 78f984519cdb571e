// --target=cpu.
#include <utility>

#include "base/status_macros.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "targets/cpu/worker/worker_main.h"
#include "targets/registry.h"

namespace smelt::cpu {
namespace {

absl::StatusOr<std::unique_ptr<targets::Target>> Open(const machine::TargetId& id, const targets::Settings& settings) {
  SMELT_ASSIGN_OR_RETURN(Target target, TargetOf(id));
  return OwnKernels(std::move(target), {.program = settings.program,
                                        .cache_folder = settings.cache_folder,
                                        .start_seconds = settings.start_seconds,
                                        .memory_bytes = settings.memory_bytes,
                                        .cancel = settings.cancel});
}

const targets::Registered kCpu({.name = "cpu",
                                .summary = "our own kernels on this CPU, or on another that LLVM knows by name",
                                .grammar = "cpu, cpu:threads=N or cpu:CPU,threads=N",
                                .open = Open,
                                .serve = WorkerMain});

}  // namespace
}  // namespace smelt::cpu
