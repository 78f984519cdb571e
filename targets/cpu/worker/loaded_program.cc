#include "targets/cpu/worker/loaded_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/golden/inputs.h"
#include "hlo/text/parser.h"

namespace smelt::cpu {
namespace {

using cpu::Executable;
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

absl::StatusOr<std::shared_ptr<const measure::PlacedArray>> InputPool::Get(const hlo::Shape& shape, int64_t leaf,
                                                                           measure::InputKind kind) {
  if (!shape.IsArray()) {
    SMELT_ASSIGN_OR_RETURN(measure::PlacedArray nothing, measure::PlacedArray::Create(0, leaf));
    return std::make_shared<const measure::PlacedArray>(std::move(nothing));
  }
  const hlo::Shape plain = hlo::Shape::Array(shape.element_type, shape.dimensions);
  const std::string key = absl::StrCat(leaf, " ", plain.ToString(), " ", static_cast<int>(kind));
  if (auto known = arrays_.find(key); known != arrays_.end()) return known->second;
  if (bytes_ > kLimitBytes) {
    for (auto it = arrays_.begin(); it != arrays_.end();) {
      if (it->second.use_count() > 1) {
        ++it;
        continue;
      }
      bytes_ -= it->second->size();
      it = arrays_.erase(it);
    }
  }
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal literal, hlo::MakeInput(plain, leaf, measure::RangeOf(kind, plain)));
  SMELT_ASSIGN_OR_RETURN(measure::PlacedArray array, measure::PlacedArray::Create(literal.byte_size(), leaf));
  if (array.size() > 0) std::memcpy(array.data(), literal.raw(), array.size());
  bytes_ += array.size();
  return arrays_[key] = std::make_shared<const measure::PlacedArray>(std::move(array));
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Load(const std::string& text, const cpu::Target& target,
                                                                   const cpu::ExecutableOptions& options,
                                                                   InputPool& inputs, measure::InputKind kind) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::ParseModule(text, {.file_name = "candidate"}));
  std::unique_ptr<LoadedProgram> program(new LoadedProgram);
  SMELT_ASSIGN_OR_RETURN(program->executable_, Executable::Compile(*module, target, options));
  int64_t arrays = 0;
  for (const hlo::Instruction* parameter : module->entry()->Parameters()) {
    std::vector<const hlo::Shape*> shapes;
    parameter->shape().AppendLeaves(&shapes);
    for (const hlo::Shape* shape : shapes) {
      SMELT_ASSIGN_OR_RETURN(std::shared_ptr<const measure::PlacedArray> input, inputs.Get(*shape, arrays, kind));
      arrays += shape->IsArray();
      program->input_pointers_.push_back(input->data());
      program->inputs_.push_back(std::move(input));
    }
  }
  std::vector<const hlo::Shape*> shapes;
  module->entry()->root()->shape().AppendLeaves(&shapes);
  for (const hlo::Shape* shape : shapes) {
    SMELT_ASSIGN_OR_RETURN(measure::PlacedArray output,
                           measure::PlacedArray::Create(shape->IsArray() ? shape->ByteSize() : 0, arrays++));
    program->output_pointers_.push_back(output.data());
    program->output_shapes_.push_back(*shape);
    program->outputs_.push_back(std::move(output));
  }
  return program;
}

absl::StatusOr<std::vector<hlo::Literal>> LoadedProgram::Outputs() const {
  std::vector<hlo::Literal> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal output, hlo::Literal::Create(output_shapes_[i]));
    if (outputs_[i].size() > 0) std::memcpy(output.raw(), outputs_[i].data(), outputs_[i].size());
    outputs.push_back(std::move(output));
  }
  return outputs;
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

}  // namespace smelt::cpu
