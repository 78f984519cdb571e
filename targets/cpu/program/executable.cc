#include "targets/cpu/program/executable.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "runtime/execution.h"
#include "targets/cpu/program/run_status.h"
#include "targets/cpu/program/runs_here.h"

namespace smelt::cpu {
namespace {

constexpr uintptr_t kAlignment = 64;

class CompiledExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Make(const hlo::Module& module, const Target& target,
                                                          const ExecutableOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    auto executable = std::make_unique<CompiledExecutable>();
    SMELT_RETURN_IF_ERROR(RunsHere(target, /*uses_tiles=*/false));
    SMELT_ASSIGN_OR_RETURN(CompiledProgram compiled, CompileProgram(module, target, options));
    if (UsesTiles(compiled)) SMELT_RETURN_IF_ERROR(RunsHere(target, /*uses_tiles=*/true));
    executable->kernels_ = std::move(compiled.kernels);
    executable->jobs_ = std::move(compiled.jobs);
    executable->inputs_ = std::move(compiled.inputs);
    executable->outputs_ = std::move(compiled.outputs);
    executable->program_ = std::move(compiled.program);
    SMELT_RETURN_IF_ERROR(ToAbsl(runtime::Execution::Create(executable->program_, executable->jobs_,
                                                            std::max(target.threads, 1), &executable->execution_)));
    executable->compile_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::unique_ptr<Executable>(std::move(executable));
  }

  const std::vector<KernelInfo>& kernels() const override { return kernels_; }
  double compile_seconds() const override { return compile_seconds_; }
  int64_t arena_bytes() const override { return program_.arena_bytes; }
  int64_t kept_bytes() const override { return program_.kept_bytes; }
  int64_t setups() const override { return execution_->setups(); }

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
    return ToAbsl(execution_->Run({inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}, options));
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

  runtime::Program program_;
  std::vector<hlo::Shape> inputs_, outputs_;  // array leaves of the parameters and of the result
  std::vector<runtime::ProgramJob> jobs_;
  std::vector<KernelInfo> kernels_;
  std::unique_ptr<runtime::Execution> execution_;
  std::vector<const void*> apart_inputs_, apart_outputs_;  // what CheckApart last found right
  double compile_seconds_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> Executable::Compile(const hlo::Module& module, const Target& target,
                                                                const ExecutableOptions& options) {
  return CompiledExecutable::Make(module, target, options);
}

}  // namespace smelt::cpu
