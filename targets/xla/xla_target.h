// --target=xla: XLA:CPU in jaxlib under fusions of ours, as the search, the profiler and the verbs see it.
//
//   std::unique_ptr<targets::Target> xla = xla::XlaCpu(processor, {.find_worker = [] { return FindXlaWorker({}); }});
//   std::unique_ptr<targets::Tunable> tunable = xla->Open("model.hlo", "priority").value();
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "measure/worker_process.h"
#include "targets/cpu/codegen/target.h"
#include "targets/target.h"
#include "targets/tunable.h"
#include "targets/xla/program.h"
#include "targets/xla/start.h"

namespace smelt::xla {

struct XlaCpuOptions {
  // XLA's child (python.h). Asked once, when the first is needed: there is work that needs none.
  std::function<absl::StatusOr<measure::WorkerOptions>()> find_worker;
  StartOptions start;  // of tuning sessions; `compile_seconds` is the limit of all XLA's compilations
};
std::unique_ptr<targets::Target> XlaCpu(cpu::Target processor, XlaCpuOptions options);

// The default is XLA's own choice. `target` must outlive it.
absl::StatusOr<std::unique_ptr<targets::Tunable>> MakeTunable(const targets::Target& target, XlaProgram program);

// Names of answers that are XLA's own programs (Trial::compiler), and of the configurations that --fusion asks for.
inline constexpr const char* kOwnChoice = "xla";
inline constexpr const char* kOwnChoiceWithoutLibrary = "xla_no_library";
inline constexpr const char* kOwnChoiceFusion = "xla";
inline constexpr const char* kWithoutLibraryFusion = "xla-no-library";

}  // namespace smelt::xla
