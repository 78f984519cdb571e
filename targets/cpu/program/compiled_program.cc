#include "targets/cpu/program/compiled_program.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "targets/cpu/program/alternate_state.h"
#include "targets/cpu/program/coalesce.h"
#include "targets/cpu/program/known_part.h"
#include "targets/cpu/program/leaves_of_jobs.h"
#include "targets/cpu/program/opaque.h"
#include "targets/cpu/program/plan_arena.h"
#include "targets/cpu/program/program_builder.h"
#include "targets/cpu/program/run_status.h"
#include "targets/cpu/program/streamed_results.h"

namespace smelt::cpu {
namespace {

// What a job became: its code, what runs it elsewhere, or why it has none.
struct MadeJob {
  std::shared_ptr<const CompiledKernel> kernel;
  std::string reason;
  std::optional<ElsewhereKernel> elsewhere = std::nullopt;
  CompileOptions options = {};
  absl::Status status = absl::OkStatus();  // of `elsewhere`, of a schedule that was chosen, or of being cancelled
};

int64_t LeafCountOfParameters(const hlo::Computation& kernel) {
  int64_t count = 0;
  for (const hlo::Instruction* parameter : kernel.Parameters()) count += parameter->shape().LeafCount();
  return count;
}

// The array leaves of each distinct kernel's parameters that are known wherever it runs.
std::vector<std::vector<int64_t>> KnownLeaves(const BuiltProgram& built) {
  const std::vector<runtime::ProgramBuffer>& buffers = built.program.buffers;
  return LeavesOfJobs(built, [&](const runtime::Step& step, bool) {
    std::vector<int64_t> known;
    for (size_t i = 0; i < step.reads.size(); ++i) {
      const runtime::ProgramBuffer& read = buffers[step.reads[i]];
      if (read.known || read.kind == runtime::ProgramBuffer::Kind::kConstant) known.push_back(static_cast<int64_t>(i));
    }
    return known;
  });
}

MadeJob CompileJob(const fusion::Kernel& kernel, CompileOptions compile, const Target& target,
                   const ExecutableOptions& options) {
  if (auto chosen = options.schedules.find(kernel.hash); chosen != options.schedules.end())
    compile.schedule = chosen->second;
  const auto compiled = [&]() -> absl::StatusOr<std::shared_ptr<const CompiledKernel>> {
    SMELT_RETURN_IF_ERROR(kernels::config::CheckChoice(compile.schedule, kernel.hash));
    return CompileKernel(kernel.computation(), target, compile, options.cache);
  }();
  if (!compiled.ok() && kernels::config::IsExplicit(compile.schedule)) {
    MadeJob failed;
    failed.status = absl::Status(compiled.status().code(), absl::StrCat("kernel `", kernel.name, "` with schedule `",
                                                                        kernels::config::ToLine(compile.schedule),
                                                                        "`: ", compiled.status().message()));
    return failed;
  }
  if (!compiled.ok()) return {nullptr, std::string(compiled.status().message())};
  const runtime::KernelDescriptor& descriptor = (*compiled)->code->descriptor();
  Check(descriptor.input_count == LeafCountOfParameters(kernel.computation()) &&
            descriptor.output_count == kernel.computation().root()->shape().LeafCount(),
        "a compiled kernel takes its computation's parameters and gives its results");
  return {*compiled, "", std::nullopt, std::move(compile)};
}

std::vector<MadeJob> CompileJobs(const BuiltProgram& built, const Target& target, const ExecutableOptions& options) {
  const std::vector<fusion::Kernel>& kernels = built.jobs;
  std::vector<MadeJob> compiled(kernels.size());
  const std::vector<std::vector<int64_t>> known = KnownLeaves(built);
  const std::vector<std::vector<int64_t>> streamed = StreamedResults(built, options.distances, target);
  std::atomic<size_t> next = 0;
  runtime::ThreadPool pool(std::min<int>(target.threads, static_cast<int>(kernels.size())));
  // Each worker takes the next kernel: compile times differ a lot.
  pool.ParallelFor(pool.threads(), [&](int, int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (size_t i = next++; i < kernels.size(); i = next++) {
        if (options.cancel != nullptr && *options.cancel) {
          compiled[i].status = absl::CancelledError("interrupted");
          continue;
        }
        if (options.elsewhere) {
          absl::StatusOr<std::optional<ElsewhereKernel>> elsewhere = options.elsewhere(kernels[i]);
          compiled[i].status = elsewhere.status();
          if (elsewhere.ok()) compiled[i].elsewhere = *std::move(elsewhere);
          if (!elsewhere.ok() || compiled[i].elsewhere) continue;
        }
        if (built.native_jobs.contains(static_cast<int32_t>(i))) continue;
        const auto opaque = built.opaque_jobs.find(static_cast<int32_t>(i));
        compiled[i] = opaque == built.opaque_jobs.end()
                          ? CompileJob(kernels[i], {.known = known[i], .streamed = streamed[i]}, target, options)
                          : MadeJob{nullptr, opaque->second};
      }
    }
  });
  return compiled;
}

// What the runtime is given: the code, the native operation, what runs it elsewhere, or the evaluator.
runtime::ProgramJob JobOf(std::shared_ptr<const fusion::Kernel> kernel, const NativePlan* native, const MadeJob& made) {
  if (made.elsewhere) {
    return {nullptr, nullptr,
            [run = made.elsewhere->run](std::span<const void* const> inputs, std::span<void* const> outputs,
                                        int threads, const std::atomic<bool>* cancel) {
              return FromAbsl(run({inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, threads, cancel));
            }};
  }
  if (native != nullptr) return {nullptr, native->operation, nullptr};
  if (made.kernel != nullptr) return {made.kernel->code, nullptr, nullptr};
  return {nullptr, nullptr,
          [kernel](std::span<const void* const> inputs, std::span<void* const> outputs, int threads,
                   const std::atomic<bool>* cancel) {
            return FromAbsl(RunOpaque(kernel->computation(), {inputs.data(), inputs.size()},
                                      {outputs.data(), outputs.size()}, threads, cancel));
          }};
}

// Kernels get their shared scratch as further buffers to write; those without code become opaque.
void FinishSteps(const std::vector<runtime::ProgramJob>& jobs, runtime::Program* program, runtime::Sequence* steps) {
  for (runtime::Step& step : *steps) {
    for (runtime::Sequence& sequence : step.sequences) FinishSteps(jobs, program, &sequence);
    if (step.kind != runtime::Step::Kind::kKernel) continue;
    const runtime::ProgramJob& job = jobs[step.job];
    if (job.code == nullptr) {
      step.kind = runtime::Step::Kind::kOpaque;
      continue;
    }
    for (int64_t bytes : job.code->descriptor().shared_bytes) {
      step.writes.push_back(static_cast<runtime::BufferId>(program->buffers.size()));
      runtime::ProgramBuffer scratch;
      scratch.bytes = bytes;
      program->buffers.push_back(scratch);
    }
  }
}

std::vector<KernelInfo> KernelInfos(const BuiltProgram& built, const std::vector<MadeJob>& compiled) {
  std::vector<KernelInfo> kernels;
  for (const KernelSite& site : built.sites) {
    KernelInfo info;
    info.name = site.name;
    info.computation = site.computation;
    info.hash = site.hash;
    info.flops = site.flops;
    info.bytes = site.bytes;
    if (site.job < 0) {
      info.trace = "# the executor overwrites the slice in place\n";
    } else if (const auto& elsewhere = compiled[site.job].elsewhere; elsewhere) {
      info.tile = elsewhere->way;
      info.trace = elsewhere->trace;
    } else if (built.native_jobs.contains(site.job)) {
      info.native = true;
      info.trace = "# a native operation of the runtime\n";
    } else if (compiled[site.job].kernel == nullptr) {
      info.opaque = true;
      info.opaque_reason = compiled[site.job].reason;
    } else {
      info.tile = compiled[site.job].kernel->tile;
      info.trace = compiled[site.job].kernel->trace;
      info.compile_seconds = compiled[site.job].kernel->compile_seconds;
    }
    kernels.push_back(std::move(info));
  }
  return kernels;
}

}  // namespace

bool UsesTiles(const CompiledProgram& compiled) {
  return std::any_of(compiled.jobs.begin(), compiled.jobs.end(), [](const runtime::ProgramJob& job) {
    return job.code != nullptr && job.code->descriptor().uses_tiles;
  });
}

absl::StatusOr<CompiledProgram> CompileProgram(const hlo::Module& module, const Target& target,
                                               const ExecutableOptions& options) {
  SMELT_ASSIGN_OR_RETURN(BuiltProgram built, BuildProgram(module));
  std::vector<MadeJob> made = CompileJobs(built, target, options);
  for (const MadeJob& job : made) SMELT_RETURN_IF_ERROR(job.status);
  CompiledProgram compiled;
  compiled.kernels = KernelInfos(built, made);
  for (size_t i = 0; i < built.jobs.size(); ++i) {
    const auto native = built.native_jobs.find(static_cast<int32_t>(i));
    const NativePlan* plan = native == built.native_jobs.end() ? nullptr : &native->second;
    CompiledJob job{std::make_shared<const fusion::Kernel>(std::move(built.jobs[i])), made[i].kernel, std::nullopt,
                    made[i].reason, made[i].options};
    if (plan != nullptr) job.native = plan->plan;
    compiled.jobs.push_back(JobOf(job.source, plan, made[i]));
    compiled.compiled.push_back(std::move(job));
  }
  compiled.inputs = std::move(built.inputs);
  compiled.outputs = std::move(built.outputs);
  compiled.program = std::move(built.program);
  FinishSteps(compiled.jobs, &compiled.program, &compiled.program.steps);
  TakeOutKnownPart(compiled.jobs, &compiled.program);
  CoalesceCopies(&compiled.program);
  AlternateLoopState(&compiled.program);
  SMELT_RETURN_IF_ERROR(PlanArena(&compiled.program));
  return compiled;
}

}  // namespace smelt::cpu
