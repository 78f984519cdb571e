#include "targets/cpu/program/executable.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "runtime/execution.h"
#include "targets/cpu/program/coalesce.h"
#include "targets/cpu/program/opaque.h"
#include "targets/cpu/program/plan_arena.h"
#include "targets/cpu/program/program_builder.h"

namespace smelt::cpu {
namespace {

constexpr uintptr_t kAlignment = 64;

// What a job became: its code, what runs it elsewhere, or why it has none.
struct CompiledJob {
  std::shared_ptr<const CompiledKernel> kernel;
  std::string reason;
  std::optional<ElsewhereKernel> elsewhere = std::nullopt;
  absl::Status status = absl::OkStatus();  // of `elsewhere`
};

int64_t LeafCountOfParameters(const hlo::Computation& kernel) {
  int64_t count = 0;
  for (const hlo::Instruction* parameter : kernel.Parameters()) count += parameter->shape().LeafCount();
  return count;
}

CompiledJob CompileJob(const fusion::Kernel& kernel, const Target& target, const ExecutableOptions& options) {
  CompileOptions compile;
  if (auto tile = options.tiles.find(kernel.hash); tile != options.tiles.end()) compile.tile = tile->second;
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> compiled =
      CompileKernel(kernel.computation(), target, compile, options.cache);
  if (!compiled.ok() && compile.tile && compile.tile->algorithm != kernels::te::ConvolutionAlgorithm::kDirect) {
    // Whoever names an algorithm wants it, or to know why not.
    CompiledJob failed;
    failed.status = compiled.status();
    return failed;
  }
  if (!compiled.ok()) return {nullptr, std::string(compiled.status().message())};
  const runtime::KernelDescriptor& descriptor = (*compiled)->code->descriptor();
  Check(descriptor.input_count == LeafCountOfParameters(kernel.computation()) &&
            descriptor.output_count == kernel.computation().root()->shape().LeafCount(),
        "a compiled kernel takes its computation's parameters and gives its results");
  return {std::move(*compiled), ""};
}

std::vector<CompiledJob> CompileJobs(const BuiltProgram& built, const Target& target,
                                     const ExecutableOptions& options) {
  const std::vector<fusion::Kernel>& kernels = built.jobs;
  std::vector<CompiledJob> compiled(kernels.size());
  std::atomic<size_t> next = 0;
  runtime::ThreadPool pool(std::min<int>(target.threads, static_cast<int>(kernels.size())));
  // Each worker takes the next kernel: compile times differ a lot.
  pool.ParallelFor(pool.threads(), [&](int, int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (size_t i = next++; i < kernels.size(); i = next++) {
        if (options.elsewhere) {
          absl::StatusOr<std::optional<ElsewhereKernel>> elsewhere = options.elsewhere(kernels[i]);
          compiled[i].status = elsewhere.status();
          if (elsewhere.ok()) compiled[i].elsewhere = *std::move(elsewhere);
          if (!elsewhere.ok() || compiled[i].elsewhere) continue;
        }
        if (built.native_jobs.contains(static_cast<int32_t>(i))) continue;
        const auto opaque = built.opaque_jobs.find(static_cast<int32_t>(i));
        compiled[i] = opaque == built.opaque_jobs.end() ? CompileJob(kernels[i], target, options)
                                                        : CompiledJob{nullptr, opaque->second};
      }
    }
  });
  return compiled;
}

// What the runtime is given where there is no native operation: the code, what runs it elsewhere, or the evaluator with
// the kernel that it keeps.
runtime::ProgramJob JobOf(fusion::Kernel kernel, const CompiledJob& compiled) {
  if (compiled.elsewhere) return {nullptr, nullptr, compiled.elsewhere->run};
  if (compiled.kernel != nullptr) return {compiled.kernel->code, nullptr, nullptr};
  const auto kept = std::make_shared<const fusion::Kernel>(std::move(kernel));
  return {nullptr, nullptr,
          [kept](absl::Span<const void* const> inputs, absl::Span<void* const> outputs, int threads,
                 const std::atomic<bool>* cancel) {
            return RunOpaque(kept->computation(), inputs, outputs, threads, cancel);
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

class CompiledExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Make(const hlo::Module& module, const Target& target,
                                                          const ExecutableOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    auto executable = std::make_unique<CompiledExecutable>();
    SMELT_ASSIGN_OR_RETURN(BuiltProgram built, BuildProgram(module));
    std::vector<CompiledJob> compiled = CompileJobs(built, target, options);
    for (const CompiledJob& job : compiled) SMELT_RETURN_IF_ERROR(job.status);
    executable->AddKernelInfo(built, compiled);
    for (size_t i = 0; i < built.jobs.size(); ++i) {
      const auto native = built.native_jobs.find(static_cast<int32_t>(i));
      executable->jobs_.push_back(native != built.native_jobs.end()
                                      ? runtime::ProgramJob{nullptr, native->second, nullptr}
                                      : JobOf(std::move(built.jobs[i]), compiled[i]));
    }
    executable->inputs_ = std::move(built.inputs);
    executable->outputs_ = std::move(built.outputs);
    runtime::Program& program = executable->program_;
    program = std::move(built.program);
    FinishSteps(executable->jobs_, &program, &program.steps);
    CoalesceCopies(&program);
    SMELT_ASSIGN_OR_RETURN(executable->arena_bytes_, PlanArena(&program));
    SMELT_ASSIGN_OR_RETURN(
        executable->execution_,
        runtime::Execution::Create(program, executable->jobs_, executable->arena_bytes_, std::max(target.threads, 1)));
    executable->compile_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::unique_ptr<Executable>(std::move(executable));
  }

  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  double compile_seconds() const override { return compile_seconds_; }
  int64_t arena_bytes() const override { return arena_bytes_; }

  absl::StatusOr<std::vector<hlo::Literal>> Run(absl::Span<const hlo::Literal* const> inputs,
                                                const RunOptions& options) override {
    if (inputs.size() != inputs_.size()) return WrongCount("inputs", inputs.size(), inputs_.size());
    std::vector<const void*> input_pointers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]->shape().SameAs(inputs_[i])) {
        return absl::InvalidArgumentError(
            StrCat("input ", i, " is ", inputs[i]->shape().ToString(), ", the program takes ", inputs_[i].ToString()));
      }
      input_pointers.push_back(inputs[i]->raw());
    }
    std::vector<hlo::Literal> outputs;
    std::vector<void*> output_pointers;
    for (const hlo::Shape& shape : outputs_) {
      SMELT_ASSIGN_OR_RETURN(hlo::Literal literal, hlo::Literal::CreateUninitialized(shape));
      outputs.push_back(std::move(literal));
      output_pointers.push_back(outputs.back().raw());
    }
    SMELT_RETURN_IF_ERROR(RunInto(input_pointers, output_pointers, options));
    return outputs;
  }

  absl::Status RunInto(absl::Span<const void* const> inputs, absl::Span<void* const> outputs,
                       const RunOptions& options) override {
    if (inputs.size() != inputs_.size()) return WrongCount("inputs", inputs.size(), inputs_.size());
    if (outputs.size() != outputs_.size()) {
      return WrongCount("outputs", outputs.size(), outputs_.size());
    }
    for (size_t i = 0; i < inputs.size(); ++i) SMELT_RETURN_IF_ERROR(CheckAligned("input", i, inputs[i]));
    for (size_t i = 0; i < outputs.size(); ++i) SMELT_RETURN_IF_ERROR(CheckAligned("output", i, outputs[i]));
    SMELT_RETURN_IF_ERROR(CheckApart(inputs, outputs));
    if (options.kernel_seconds != nullptr) options.kernel_seconds->resize(kernels_.size());
    return execution_->Run(inputs, outputs, options);
  }

 private:
  static absl::Status WrongCount(const char* what, size_t got, size_t wanted) {
    return absl::InvalidArgumentError(StrCat("the program has ", wanted, " ", what, ", ", got, " were given"));
  }

  static absl::Status CheckAligned(const char* what, size_t i, const void* pointer) {
    if (reinterpret_cast<uintptr_t>(pointer) % kAlignment == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(what, " ", i, " is not aligned to ", kAlignment, " bytes"));
  }

  // No output may share memory with another output or with an input: kernels are compiled for buffers that lie apart.
  // Looked at once for as long as the pointers stay the same.
  absl::Status CheckApart(absl::Span<const void* const> inputs, absl::Span<void* const> outputs) {
    if (std::equal(inputs.begin(), inputs.end(), apart_inputs_.begin(), apart_inputs_.end()) &&
        std::equal(outputs.begin(), outputs.end(), apart_outputs_.begin(), apart_outputs_.end())) {
      return absl::OkStatus();
    }
    struct Piece {
      uintptr_t begin, end;
      bool output;
      size_t number;
      std::string ToString() const { return StrCat(output ? "output " : "input ", number); }
    };
    std::vector<Piece> pieces;
    const auto add = [&](const void* data, const hlo::Shape& shape, bool output, size_t number) {
      const uintptr_t begin = reinterpret_cast<uintptr_t>(data);
      if (shape.ByteSize() > 0)
        pieces.push_back({begin, begin + static_cast<uintptr_t>(shape.ByteSize()), output, number});
    };
    for (size_t i = 0; i < inputs.size(); ++i) add(inputs[i], inputs_[i], false, i);
    for (size_t i = 0; i < outputs.size(); ++i) add(outputs[i], outputs_[i], true, i);
    std::sort(pieces.begin(), pieces.end(), [](const Piece& x, const Piece& y) { return x.begin < y.begin; });
    // Inputs may be one another; so the piece that reaches furthest is remembered of each kind.
    const Piece* furthest[2] = {nullptr, nullptr};
    for (const Piece& piece : pieces) {
      for (const Piece* before : furthest) {
        if (before == nullptr || before->end <= piece.begin || !(before->output || piece.output)) continue;
        return absl::InvalidArgumentError(StrCat(piece.ToString(), " and ", before->ToString(),
                                                 " share memory: each output needs a buffer of its own"));
      }
      const Piece*& reaches = furthest[piece.output];
      if (reaches == nullptr || reaches->end < piece.end) reaches = &piece;
    }
    apart_inputs_.assign(inputs.begin(), inputs.end());
    apart_outputs_.assign(outputs.begin(), outputs.end());
    return absl::OkStatus();
  }

  void AddKernelInfo(const BuiltProgram& built, const std::vector<CompiledJob>& compiled) {
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
      kernels_.push_back(std::move(info));
    }
  }

  runtime::Program program_;
  std::vector<hlo::Shape> inputs_, outputs_;  // array leaves of the parameters and of the result
  std::vector<runtime::ProgramJob> jobs_;
  std::vector<KernelInfo> kernels_;
  std::unique_ptr<runtime::Execution> execution_;
  std::vector<const void*> apart_inputs_, apart_outputs_;  // what CheckApart last found right
  int64_t arena_bytes_ = 0;
  double compile_seconds_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> Executable::Compile(const hlo::Module& module, const Target& target,
                                                                const ExecutableOptions& options) {
  return CompiledExecutable::Make(module, target, options);
}

}  // namespace smelt::cpu
