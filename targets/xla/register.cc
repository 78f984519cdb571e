// --target=xla, and --target=embed for the kernels that `smelt embed` compiles.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "targets/cpu/own_kernels.h"
#include "targets/cpu/processor/detect.h"
#include "targets/registry.h"
#include "targets/xla/loop_rules.h"
#include "targets/xla/python.h"
#include "targets/xla/xla_target.h"

namespace smelt::xla {
namespace {

constexpr char kPython[] = "--python", kCompileSeconds[] = "--compile-seconds", kLibraryFusions[] = "--library-fusions",
               kCaptured[] = "--captured", kCapturedLibrary[] = "--captured-library";

// XLA compiles for the processor that it runs on.
absl::StatusOr<cpu::Target> ThisProcessor(const machine::TargetId& id) {
  SMELT_ASSIGN_OR_RETURN(cpu::Target target, cpu::TargetOf({.kind = id.kind, .threads = id.threads}));
  if (!id.cpu.empty() && id.cpu != target.name) {
    return absl::InvalidArgumentError(absl::StrCat("target `", id.ToString(), "`: it is for the processor at hand, ",
                                                   target.name, "; leave the name out"));
  }
  return target;
}

absl::StatusOr<std::unique_ptr<targets::Target>> OpenXla(const machine::TargetId& id,
                                                         const targets::Settings& settings) {
  SMELT_ASSIGN_OR_RETURN(cpu::Target processor, ThisProcessor(id));
  XlaCpuOptions options;
  options.find_worker = [settings, threads = processor.threads]() -> absl::StatusOr<measure::WorkerOptions> {
    SMELT_ASSIGN_OR_RETURN(measure::WorkerOptions worker, FindXlaWorker({.python = settings.Get(kPython),
                                                                         .threads = threads,
                                                                         .memory_limit_bytes = settings.memory_bytes,
                                                                         .start_seconds = settings.start_seconds,
                                                                         .cancel = settings.cancel}));
    worker.cache_folder = settings.cache_folder;
    return worker;
  };
  options.start.library = settings.Get(kLibraryFusions, options.start.library);
  options.start.captured = {settings.Get(kCaptured), settings.Get(kCapturedLibrary)};
  options.start.compile_seconds = settings.Seconds(kCompileSeconds, options.start.compile_seconds);
  return XlaCpu(std::move(processor), std::move(options));
}

const targets::Registered kXla({
    .name = kKind,
    .summary = "XLA:CPU in jaxlib, under fusions of ours or its own",
    .grammar = "xla or xla:threads=N",
    .fusions = {{kOwnChoiceFusion, "XLA's own passes, all of them"},
                {kWithoutLibraryFusion, "the same without its library of contractions"}},
    .flags = {{.name = kPython, .help = kPythonHelp},
              {.name = kCompileSeconds, .help = "Limit of one of XLA's compilations", .value = "600", .seconds = true},
              {.name = kLibraryFusions,
               .help = "Whether the fusions that XLA makes for its library stay as they are (kept) or each contraction "
                       "is a choice (free); auto: whichever of XLA's two settings is faster",
               .value = "auto",
               .words = {"auto", "kept", "free"},
               .tuning = true},
              {.name = kCaptured,
               .help = "The module as XLA's passes left it with fusion and library off, captured in the process that "
                       "will run it; by default a child captures it",
               .tuning = true},
              {.name = kCapturedLibrary, .help = "The same with the library on", .tuning = true}},
    .rough_rules = LoopRules,
    .open = OpenXla,
});

// Our kernels in calls from a program that XLA compiles: the module is what its passes left, and fusions are such as it
// takes as well.
absl::StatusOr<std::unique_ptr<targets::Target>> OpenEmbed(const machine::TargetId& id,
                                                           const targets::Settings& settings) {
  SMELT_ASSIGN_OR_RETURN(cpu::Target processor, ThisProcessor(id));
  return cpu::OwnKernels(std::move(processor), {.program = settings.program,
                                                .cache_folder = settings.cache_folder,
                                                .start_seconds = settings.start_seconds,
                                                .memory_bytes = settings.memory_bytes,
                                                .cancel = settings.cancel,
                                                .rules = LoopRules(),
                                                .simplify = targets::Simplify::kNo});
}

const targets::Registered kEmbed({
    .name = "embed",
    .summary = "our own kernels in calls from a program that XLA compiles (smelt embed): the module is what XLA's "
               "passes left",
    .grammar = "embed or embed:threads=N",
    .open = OpenEmbed,
});

}  // namespace
}  // namespace smelt::xla
