#include "tuner/measure/loaded_program.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "hlo/golden/inputs.h"
#include "hlo/status_macros.h"
#include "hlo/text/parser.h"

namespace smelt::tuner {
namespace {

using kernels::runtime::Executable;
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

absl::StatusOr<std::shared_ptr<const hlo::Literal>> InputPool::Get(const hlo::Shape& shape, int64_t leaf,
                                                                   InputKind kind) {
  if (!shape.IsArray()) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal token, hlo::Literal::Create(shape));
    return std::make_shared<const hlo::Literal>(std::move(token));
  }
  const hlo::Shape plain = hlo::Shape::Array(shape.element_type, shape.dimensions);
  const std::string key = absl::StrCat(leaf, " ", plain.ToString(), " ", static_cast<int>(kind));
  if (auto known = literals_.find(key); known != literals_.end()) return known->second;
  if (bytes_ > kLimitBytes) {
    for (auto it = literals_.begin(); it != literals_.end();) {
      if (it->second.use_count() > 1) {
        ++it;
        continue;
      }
      bytes_ -= it->second->byte_size();
      it = literals_.erase(it);
    }
  }
  SMELT_ASSIGN_OR_RETURN(hlo::Literal literal, hlo::MakeInput(plain, leaf, RangeOf(kind, plain)));
  bytes_ += literal.byte_size();
  return literals_[key] = std::make_shared<const hlo::Literal>(std::move(literal));
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Load(const std::string& text,
                                                                   const kernels::Target& target,
                                                                   const kernels::runtime::ExecutableOptions& options,
                                                                   InputPool& inputs, InputKind kind) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::ParseModule(text, {.file_name = "candidate"}));
  std::unique_ptr<LoadedProgram> program(new LoadedProgram);
  SMELT_ASSIGN_OR_RETURN(program->executable_, Executable::Compile(*module, target, options));
  int64_t arrays = 0;
  for (const hlo::Instruction* parameter : module->entry()->Parameters()) {
    std::vector<const hlo::Shape*> shapes;
    parameter->shape().AppendLeaves(&shapes);
    for (const hlo::Shape* shape : shapes) {
      SMELT_ASSIGN_OR_RETURN(std::shared_ptr<const hlo::Literal> input, inputs.Get(*shape, arrays, kind));
      arrays += shape->IsArray();
      program->input_pointers_.push_back(input->raw());
      program->inputs_.push_back(std::move(input));
    }
  }
  std::vector<const hlo::Shape*> shapes;
  module->entry()->root()->shape().AppendLeaves(&shapes);
  for (const hlo::Shape* shape : shapes) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal output, hlo::Literal::Create(*shape));
    program->outputs_.push_back(std::move(output));
  }
  for (hlo::Literal& output : program->outputs_) program->output_pointers_.push_back(output.raw());
  return program;
}

absl::Status LoadedProgram::Run() { return executable_->RunInto(input_pointers_, output_pointers_); }

absl::Status LoadedProgram::Prepare() {
  constexpr double kSampleSeconds = 100e-6;
  SMELT_RETURN_IF_ERROR(Run());
  const auto start = Clock::now();
  SMELT_RETURN_IF_ERROR(Run());
  runs_per_sample_ = std::clamp<int64_t>(static_cast<int64_t>(kSampleSeconds / std::max(Since(start), 1e-8)), 1, 2000);
  return absl::OkStatus();
}

absl::StatusOr<double> LoadedProgram::Sample() {
  const auto start = Clock::now();
  for (int64_t i = 0; i < runs_per_sample_; ++i) SMELT_RETURN_IF_ERROR(Run());
  return Since(start) / static_cast<double>(runs_per_sample_);
}

absl::StatusOr<LoadedProgram::KernelTimes> LoadedProgram::TimeKernels(int rounds) {
  const size_t count = executable_->kernels().size();
  KernelTimes times{std::vector<double>(count, std::numeric_limits<double>::infinity()), std::vector<int64_t>(count)};
  std::vector<std::vector<double>> executions;
  for (int round = 0; round < rounds; ++round) {
    executions.assign(count, {});
    SMELT_RETURN_IF_ERROR(executable_->RunInto(input_pointers_, output_pointers_, {.kernel_seconds = &executions}));
    for (size_t k = 0; k < count; ++k) {
      double sum = 0;
      for (double seconds : executions[k]) sum += seconds;
      times.seconds[k] = std::min(times.seconds[k], sum);
      times.executions[k] = static_cast<int64_t>(executions[k].size());
    }
  }
  return times;
}

}  // namespace smelt::tuner
