// smelt bench: latency of a module, in total and by kernel.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/known_flags.h"
#include "cli/one_program.h"
#include "cli/print_json.h"
#include "cli/stablehlo.h"
#include "cli/target.h"
#include "cli/verb.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"
#include "nlohmann/json.hpp"

namespace smelt::cli {
namespace {

using ProgramResult = measure::Runner::ProgramResult;
using KernelTime = measure::Runner::KernelTime;

struct BenchFlags {
  std::string module, fusion = "priority", schedule, golden;
  int64_t repeat = 0;
  double seconds = 2;
  bool json = false, no_cache = false, no_library = false;
  KnownFlags known;
  TargetFlags target;
};

// What is printed of a run.
struct Result {
  const BenchFlags& flags;
  const machine::TargetId& id;
  const OneProgram& program;
  const ProgramResult& times;
};

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

absl::StatusOr<std::vector<hlo::Literal>> Inputs(const BenchFlags& flags, const hlo::Module& module) {
  if (flags.golden.empty()) return hlo::MakeInputs(module);
  SMELT_ASSIGN_OR_RETURN(const hlo::Golden golden, hlo::Golden::Load(flags.golden));
  return golden.MakeInputs(module);
}

// A program and what it is run on.
struct Subject {
  std::optional<OneProgram> program;
  std::vector<hlo::Literal> inputs;
};

absl::StatusOr<Subject> Open(const BenchFlags& flags, const targets::Target& target, const Interrupt& interrupt) {
  Subject subject;
  const KernelSchedules kernels{flags.no_library ? "" : DefaultCacheFolder(), flags.schedule};
  if (!flags.known.given()) {
    SMELT_ASSIGN_OR_RETURN(subject.program,
                           OneProgram::Open(target, flags.module, flags.fusion, kernels, interrupt.flag()));
    SMELT_ASSIGN_OR_RETURN(subject.inputs, Inputs(flags, subject.program->module()));
    return subject;
  }
  SMELT_ASSIGN_OR_RETURN(KnownInputs known, ReadKnown(flags.known, flags.module));
  SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> inputs, Inputs(flags, *known.program.original));
  SMELT_ASSIGN_OR_RETURN(subject.inputs, known.MainInputs(known.WithWeights(std::move(inputs))));
  SMELT_ASSIGN_OR_RETURN(subject.program, OneProgram::Take(target, std::move(known.program.split.main), flags.fusion,
                                                           kernels, interrupt.flag()));
  return subject;
}

// The number of fusions that the program has; -1 where the compiler decides.
int64_t CountFusions(const OneProgram& program) {
  const std::unique_ptr<hlo::Module> fused = program.Fused();
  if (fused == nullptr) return -1;
  int64_t fusions = 0;
  for (const hlo::Computation* computation : fused->ExecutedComputations()) {
    for (const hlo::Instruction* instruction : computation->Instructions())
      fusions += instruction->opcode() == hlo::Opcode::kFusion;
  }
  return fusions;
}

// Seconds of the fastest run that its kernels do not account for: what starts them, and what moves between them. Not
// positive where kernels timed within a run are slower than that run.
double OutsideOfKernels(const ProgramResult& times) {
  double seconds = times.outcome.best();
  for (const KernelTime& kernel : times.kernels) seconds -= kernel.seconds;
  return seconds;
}

nlohmann::json ToJson(const Result& result, bool interrupted) {
  const measure::Outcome& outcome = result.times.outcome;
  nlohmann::json json{{"module", result.flags.module},
                      {"target", result.id.kind},
                      {"threads", result.id.threads},
                      {"fusion", result.flags.fusion},
                      {"min_ms", 1e3 * outcome.best()},
                      {"median_ms", 1e3 * outcome.median()},
                      {"p90_ms", 1e3 * Quantile(outcome.seconds, 0.9)},
                      {"runs", outcome.seconds.size()},
                      {"compile_s", outcome.compile_seconds},
                      {"arena_bytes", result.times.arena_bytes},
                      {"fusions", CountFusions(result.program)},
                      {"interrupted", interrupted},
                      {"kernels", nlohmann::json::array()}};
  if (!result.times.kernels.empty()) json["outside_us"] = 1e6 * OutsideOfKernels(result.times);
  if (result.program.HasReference()) json["compilers_own_median_ms"] = 1e3 * measure::Median(outcome.reference_seconds);
  for (const KernelTime& kernel : result.times.kernels) {
    json["kernels"].push_back({{"name", kernel.name},
                               {"median_us", 1e6 * kernel.median_seconds},
                               {"us_per_run", 1e6 * kernel.seconds},
                               {"executions", kernel.executions},
                               {"flops", kernel.flops},
                               {"bytes", kernel.bytes},
                               {"hash", kernel.hash},
                               {"opaque", kernel.opaque},
                               {"tile", kernel.tile}});
  }
  return json;
}

void Print(const Result& result) {
  const measure::Outcome& outcome = result.times.outcome;
  std::string beside;
  if (result.program.HasReference()) {
    char text[160];
    std::snprintf(text, sizeof(text), "%s's own choice, in turn: median %.4f ms; ",
                  result.program.tunable().CompilerName().c_str(), 1e3 * measure::Median(outcome.reference_seconds));
    beside = text;
  }
  std::printf(
      "%s: min %.4f ms  median %.4f ms  p90 %.4f ms  (%s%zu run%s, %d thread%s, %zu kernels, compiled in %.2f s)\n",
      result.flags.module.c_str(), 1e3 * outcome.best(), 1e3 * outcome.median(), 1e3 * Quantile(outcome.seconds, 0.9),
      beside.c_str(), outcome.seconds.size(), outcome.seconds.size() == 1 ? "" : "s", result.id.threads,
      result.id.threads == 1 ? "" : "s", result.times.kernels.size(), outcome.compile_seconds);
  if (result.times.kernels.empty()) return;
  std::vector<const KernelTime*> rows;
  for (const KernelTime& kernel : result.times.kernels) rows.push_back(&kernel);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const KernelTime* a, const KernelTime* b) { return a->seconds > b->seconds; });
  std::printf("%10s %10s %9s %9s  %s\n", "us a run", "median us", "GFLOP/s", "GB/s", "kernel");
  for (const KernelTime* row : rows) {
    const double s = std::max(row->median_seconds, 1e-9);
    std::printf("%10.2f %10.2f %9.1f %9.1f  %s%s%s\n", 1e6 * row->seconds, 1e6 * row->median_seconds,
                row->flops / s * 1e-9, row->bytes / s * 1e-9, row->name.c_str(), row->opaque ? " (opaque)" : "",
                row->tile.empty() ? "" : absl::StrCat("  tile ", row->tile).c_str());
  }
  if (const double outside = OutsideOfKernels(result.times); outside > 0)
    std::printf("%10.2f %31s  outside of the kernels: starting them, and what moves between them\n", 1e6 * outside, "");
}

absl::Status Bench(const BenchFlags& flags) {
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(const machine::TargetId id, ReadTargetId(flags.target));
  SMELT_RETURN_IF_ERROR(CheckFusionOf(id, flags.fusion));
  SMELT_RETURN_IF_ERROR(CheckKnown(flags.known, id, flags.fusion));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<targets::Target> target,
                         OpenTarget(flags.target, {.cache_folder = flags.no_cache ? "" : DefaultCacheFolder(),
                                                   .memory_bytes = kWholeMemory,
                                                   .cancel = interrupt.flag()}));
  SMELT_ASSIGN_OR_RETURN(Subject subject, Open(flags, *target, interrupt));
  OneProgram& program = *subject.program;
  const std::vector<hlo::Literal>& inputs = subject.inputs;
  SMELT_ASSIGN_OR_RETURN(const ProgramResult times, program.Time(inputs, flags.seconds, flags.repeat));
  const absl::Status ended = Interrupt::End("the figures are of the runs until then");
  const Result result{flags, id, program, times};
  if (flags.json) {
    PrintJson(ToJson(result, !ended.ok()));
  } else {
    Print(result);
  }
  return ended;
}

}  // namespace

Action AddBench(Arguments& arguments) {
  auto flags = std::make_shared<BenchFlags>();
  arguments.Add("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension").Required();
  AddFusionFlag(arguments, &flags->fusion);
  arguments.Add("--schedule", flags->schedule,
                "Schedules of some kernels, a file as `smelt inspect --schedule` prints it; the others have theirs");
  AddKnownFlags(arguments, &flags->known);
  AddTargetFlags(arguments, &flags->target);
  arguments.Add("--golden", flags->golden, "Take the inputs' ranges from this golden file");
  arguments.Add("--repeat", flags->repeat, "Runs; 0: as many as fit in --seconds").Between(0, 1000000).ShowsDefault();
  arguments.Add("--seconds", flags->seconds, "Seconds of measuring").Positive().ShowsDefault();
  arguments.AddFlag("--no-library", flags->no_library, "Without the schedules that `smelt tune --kernel` kept");
  arguments.AddFlag("--no-cache", flags->no_cache, "Compile afresh, without the kernel cache");
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->target.flags[kPythonFlag]));
    return Bench(*flags);
  };
}

}  // namespace smelt::cli
