// smelt bench: latency of a module, in total and by kernel.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/print_json.h"
#include "cli/target.h"
#include "cli/values.h"
#include "cli/verb.h"
#include "cli/xla.h"
#include "hlo/golden/golden.h"
#include "hlo/golden/inputs.h"
#include "measure/placed_array.h"
#include "nlohmann/json.hpp"
#include "targets/cpu/compile/compile.h"
#include "targets/cpu/program/executable.h"
#include "targets/program.h"

namespace smelt::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::string module, fusion = "priority", golden;
  int64_t repeat = 0;
  double seconds = 2;
  bool json = false, no_cache = false;
  TargetFlags target;
  machine::TargetId id;  // that `target` names
  XlaFlags xla;
};

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

absl::StatusOr<std::vector<hlo::Literal>> Inputs(const Flags& flags, const hlo::Module& module) {
  if (flags.golden.empty()) return hlo::MakeInputs(module);
  SMELT_ASSIGN_OR_RETURN(const hlo::Golden golden, hlo::Golden::Load(flags.golden));
  return golden.MakeInputs(module);
}

// Whole runs only, in turn with XLA's own choice: XLA does not tell the times of its kernels.
absl::Status BenchXla(const Flags& flags) {
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(const XlaJob job,
                         PrepareXlaJob(flags.module, flags.fusion, flags.id.threads, flags.xla, interrupt.flag()));
  SMELT_ASSIGN_OR_RETURN(const std::vector<hlo::Literal> inputs, Inputs(flags, *job.program.program.original));
  const bool own = flags.fusion == "xla";
  SMELT_ASSIGN_OR_RETURN(const measure::Outcome outcome,
                         TimeOnXla(job, inputs, flags.xla, flags.seconds, /*beside=*/!own));
  const double xla_seconds = own ? outcome.median() : measure::Median(outcome.reference_seconds);
  if (flags.json) {
    PrintJson({{"module", flags.module},
               {"target", "xla"},
               {"threads", flags.id.threads},
               {"fusion", flags.fusion},
               {"min_ms", 1e3 * outcome.best()},
               {"median_ms", 1e3 * outcome.median()},
               {"xla_median_ms", 1e3 * xla_seconds},
               {"runs", outcome.seconds.size()},
               {"compile_s", outcome.compile_seconds},
               {"fusions", job.fusions}});
    return absl::OkStatus();
  }
  std::printf(
      "%s: min %.4f ms  median %.4f ms  (XLA's own choice, in turn: median %.4f ms; %zu rounds, %d threads, "
      "compiled in %.2f s)\n",
      flags.module.c_str(), 1e3 * outcome.best(), 1e3 * outcome.median(), 1e3 * xla_seconds, outcome.seconds.size(),
      flags.id.threads, outcome.compile_seconds);
  return absl::OkStatus();
}

absl::Status Bench(const Flags& flags) {
  SMELT_RETURN_IF_ERROR(RefuseXlaFusion(flags.fusion, flags.target.words));
  if (IsXlaTarget(flags.target.words)) return BenchXla(flags);
  Interrupt interrupt;
  SMELT_ASSIGN_OR_RETURN(const targets::Program program, targets::LoadProgram(flags.module));
  SMELT_ASSIGN_OR_RETURN(const cpu::Target target, ReadTargetToRun(flags.id.ToString()));
  const auto start = Clock::now();
  SMELT_ASSIGN_OR_RETURN(const targets::FusedProgram fused, targets::FuseProgram(program, flags.fusion, target));
  cpu::KernelCache cache(flags.no_cache ? "" : cpu::KernelCache::DefaultFolder());
  SMELT_ASSIGN_OR_RETURN(auto executable,
                         cpu::Executable::Compile(*fused.module, target, {.cache = &cache, .tiles = fused.tiles}));
  const double compile_seconds = Since(start);

  SMELT_ASSIGN_OR_RETURN(std::vector<hlo::Literal> inputs, Inputs(flags, *program.original));
  // Where the arrays lie is not left to chance: it can double the time of a kernel.
  std::vector<measure::PlacedArray> arrays;
  std::vector<const void*> input_pointers;
  for (const hlo::Literal* leaf : Leaves(inputs)) {
    SMELT_ASSIGN_OR_RETURN(measure::PlacedArray array, measure::PlacedArray::Create(leaf->byte_size(), arrays.size()));
    if (leaf->byte_size() > 0) std::memcpy(array.data(), leaf->raw(), leaf->byte_size());
    input_pointers.push_back(array.data());
    arrays.push_back(std::move(array));
  }
  inputs.clear();
  std::vector<const hlo::Shape*> shapes;
  fused.module->entry()->root()->shape().AppendLeaves(&shapes);
  std::vector<void*> output_pointers;
  for (const hlo::Shape* shape : shapes) {
    const int64_t bytes = shape->IsArray() ? shape->ByteSize() : 0;
    SMELT_ASSIGN_OR_RETURN(measure::PlacedArray array, measure::PlacedArray::Create(bytes, arrays.size()));
    output_pointers.push_back(array.data());
    arrays.push_back(std::move(array));
  }

  auto run = [&](const cpu::RunOptions& options) {
    return executable->RunInto(input_pointers, output_pointers, options);
  };
  const cpu::RunOptions plain{.cancel = interrupt.flag()};
  // Warm-up: twice, and for up to a fifth of the time.
  const auto warm = Clock::now();
  for (int i = 0; i < 2 || (i < 100 && Since(warm) < flags.seconds / 5); ++i) SMELT_RETURN_IF_ERROR(run(plain));
  std::vector<double> times;
  const auto measured = Clock::now();
  while (flags.repeat > 0 ? static_cast<int64_t>(times.size()) < flags.repeat
                          : (times.size() < 5 || Since(measured) < flags.seconds) && times.size() < 100000) {
    const auto once = Clock::now();
    const absl::Status status = run(plain);
    if (absl::IsCancelled(status) && !times.empty()) break;  // the figures of the runs until then are told
    SMELT_RETURN_IF_ERROR(status);
    times.push_back(Since(once));
  }
  // Kernels are timed in runs of their own, so that the clock does not slow the totals.
  std::vector<std::vector<double>> kernel_seconds(executable->kernels().size());
  const int64_t wanted_runs = std::clamp<int64_t>(static_cast<int64_t>(times.size()) / 2, 3, 20);
  int64_t kernel_runs = 0;
  for (; kernel_runs < wanted_runs; ++kernel_runs) {
    const absl::Status status = run({.kernel_seconds = &kernel_seconds, .cancel = interrupt.flag()});
    if (absl::IsCancelled(status)) break;
    SMELT_RETURN_IF_ERROR(status);
  }
  const absl::Status ended = Interrupt::End("the figures are of the runs until then");

  nlohmann::json result{{"module", flags.module},
                        {"threads", flags.id.threads},
                        {"fusion", flags.fusion},
                        {"min_ms", 1e3 * Quantile(times, 0)},
                        {"median_ms", 1e3 * Quantile(times, 0.5)},
                        {"p90_ms", 1e3 * Quantile(times, 0.9)},
                        {"runs", times.size()},
                        {"compile_s", compile_seconds},
                        {"arena_bytes", executable->arena_bytes()},
                        {"interrupted", !ended.ok()},
                        {"kernels", nlohmann::json::array()}};
  struct Row {
    const cpu::KernelInfo* info;
    double median, total;
  };
  std::vector<Row> rows;
  for (size_t i = 0; i < kernel_seconds.size(); ++i) {
    double total = 0;
    for (double s : kernel_seconds[i]) total += s;
    const cpu::KernelInfo& info = executable->kernels()[i];
    rows.push_back({&info, Quantile(kernel_seconds[i], 0.5), total / std::max(static_cast<double>(kernel_runs), 1.0)});
    result["kernels"].push_back({{"name", info.name},
                                 {"median_us", 1e6 * rows.back().median},
                                 {"us_per_run", 1e6 * rows.back().total},
                                 {"executions", static_cast<int64_t>(kernel_seconds[i].size()) / kernel_runs},
                                 {"flops", info.flops},
                                 {"bytes", info.bytes},
                                 {"hash", info.hash.ToHex()},
                                 {"opaque", info.opaque},
                                 {"tile", info.tile}});
  }
  if (flags.json) {
    PrintJson(result);
    return ended;
  }
  std::printf("%s: min %.4f ms  median %.4f ms  p90 %.4f ms  (%zu runs, %d threads, %zu kernels, compiled in %.2f s)\n",
              flags.module.c_str(), 1e3 * Quantile(times, 0), 1e3 * Quantile(times, 0.5), 1e3 * Quantile(times, 0.9),
              times.size(), flags.id.threads, rows.size(), compile_seconds);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.total > b.total; });
  std::printf("%10s %10s %9s %9s  %s\n", "us a run", "median us", "GFLOP/s", "GB/s", "kernel");
  for (const Row& row : rows) {
    const double s = std::max(row.median, 1e-9);
    std::printf("%10.2f %10.2f %9.1f %9.1f  %s%s%s\n", 1e6 * row.total, 1e6 * row.median, row.info->flops / s * 1e-9,
                row.info->bytes / s * 1e-9, row.info->name.c_str(), row.info->opaque ? " (opaque)" : "",
                row.info->tile.empty() ? "" : absl::StrCat("  tile ", row.info->tile).c_str());
  }
  return ended;
}

}  // namespace

Action AddBench(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("MODULE", flags->module, "HLO text or proto, or StableHLO, by its extension")->required();
  app.add_option("--fusion", flags->fusion, kXlaFusionHelp)->check(CheckFusion)->capture_default_str();
  AddTargetFlags(app, &flags->target, "cpu or cpu:threads=N, or xla or xla:threads=N: compiled by XLA:CPU in jaxlib");
  AddXlaFlags(app, &flags->xla);
  app.add_option("--golden", flags->golden, "Take the inputs' ranges from this golden file");
  app.add_option("--repeat", flags->repeat, "Runs; 0: as many as fit in --seconds")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("--seconds", flags->seconds, "Seconds of measuring")->check(Positive())->capture_default_str();
  app.add_flag("--no-cache", flags->no_cache, "Compile afresh, without the kernel cache");
  app.add_flag("--json", flags->json, "Machine-readable result on standard output");
  return [flags]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(flags->id, ReadTargetId(flags->target));
    SMELT_ASSIGN_OR_RETURN(flags->module, ModuleFile(flags->module, flags->xla.python));
    return Bench(*flags);
  };
}

}  // namespace smelt::cli
