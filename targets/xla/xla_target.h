// --target=xla: XLA:CPU in jaxlib under fusions of ours, as the search, the profiler and the verbs see it.
//
//   std::unique_ptr<targets::Target> xla = xla::XlaCpu(processor, worker, /*compile_seconds=*/600);
//   std::unique_ptr<targets::Tunable> tunable = xla::MakeTunable(*xla, std::move(xla_program)).value();
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "measure/worker_process.h"
#include "targets/cpu/codegen/target.h"
#include "targets/target.h"
#include "targets/tunable.h"
#include "targets/xla/program.h"

namespace smelt::xla {

// `worker`: XLA's child (python.h). `compile_seconds`: limit of XLA's passes over a program.
std::unique_ptr<targets::Target> XlaCpu(cpu::Target processor, measure::WorkerOptions worker, double compile_seconds);

// The default is XLA's own choice. `target` must outlive it.
absl::StatusOr<std::unique_ptr<targets::Tunable>> MakeTunable(const targets::Target& target, XlaProgram program);

// The answer where XLA's passes could not run in the time that there was.
targets::CompilersOwn OwnChoice();

// Names of answers that are XLA's own programs.
inline constexpr const char* kOwnChoice = "xla";
inline constexpr const char* kOwnChoiceWithoutLibrary = "xla_no_library";

}  // namespace smelt::xla
