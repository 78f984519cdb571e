#include "targets/cpu/worker/loaded_program.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "hlo/cost_analysis.h"
#include "hlo/file/message.h"
#include "hlo/golden/inputs.h"
#include "measure/outcome.h"
#include "nlohmann/json.hpp"

namespace smelt::cpu {
absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Compile(const std::string& text,
                                                                      const cpu::Target& target,
                                                                      const cpu::ExecutableOptions& options,
                                                                      InputPool& pool) {
  // Twice the last cache is beyond it. Of a processor with much more, one core has a share at most, and no kernel needs
  // to be timed with a gigabyte of arrays.
  constexpr int64_t kMostFarBytes = int64_t{128} << 20;
  const int64_t far_bytes = std::min(2 * target.levels[target.levels.size() - 2].bytes, kMostFarBytes);
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::FromMessage(text, "candidate"));
  std::unique_ptr<LoadedProgram> program(new LoadedProgram(pool, far_bytes));
  SMELT_ASSIGN_OR_RETURN(program->executable_, Executable::Compile(*module, target, options));
  std::vector<const hlo::Shape*> inputs, outputs;
  for (const hlo::Instruction* parameter : module->entry()->Parameters()) parameter->shape().AppendLeaves(&inputs);
  for (const hlo::Shape* shape : inputs) program->input_shapes_.push_back(*shape);
  program->read_bytes_ = hlo::AnalyzeCost(*module->entry()).operand_bytes;
  // A program whose whole result is a token gives nothing; tokens inside a tuple have their places.
  const hlo::Shape& result = module->entry()->root()->shape();
  if (result.IsArray() || result.IsTuple()) result.AppendLeaves(&outputs);
  for (const hlo::Shape* shape : outputs) program->output_shapes_.push_back(*shape);
  return program;
}

absl::Status LoadedProgram::TakeInputs(const measure::InputSource& source) {
  std::vector<hlo::Literal> stored;
  if (!source.file.empty()) {
    std::vector<hlo::Shape> leaves;
    for (const hlo::Shape& shape : input_shapes_) {
      if (shape.IsArray()) leaves.push_back(shape);
    }
    SMELT_ASSIGN_OR_RETURN(stored, measure::MakeInputs(source, leaves));
  }
  const Pages pages = source.within_program ? Pages::kLarge : Pages::kUsual;
  int64_t arrays = 0;
  const auto distance_of = [&](int64_t array) {
    return static_cast<size_t>(array) < source.distances.size() ? source.distances[array] : 0;
  };
  input_pointers_.reserve(input_shapes_.size());  // whose addresses DistantArrays has
  output_pointers_.reserve(output_shapes_.size());
  for (const hlo::Shape& shape : input_shapes_) {
    InputPool::Array input;
    if (!shape.IsArray()) {
      SMELT_ASSIGN_OR_RETURN(measure::PlacedArray nothing, measure::PlacedArray::Create(0, arrays, pages));
      input = std::make_shared<const measure::PlacedArray>(std::move(nothing));
    } else if (const int64_t distance = distance_of(arrays); distance > 0) {
      input_pointers_.push_back(nullptr);
      inputs_.push_back(nullptr);
      const bool one_each = read_bytes_.size() == input_shapes_.size();  // else some are tuples
      const double read = one_each ? read_bytes_[inputs_.size() - 1] : static_cast<double>(shape.ByteSize());
      distant_.AddInput(shape, measure::RangeOf(source.inputs, arrays, shape), distance, static_cast<int64_t>(read),
                        &input_pointers_.back());
      ++arrays;
      continue;
    } else if (source.file.empty()) {
      SMELT_ASSIGN_OR_RETURN(input, pool_.Get(shape, arrays, measure::RangeOf(source.inputs, arrays, shape), pages));
      ++arrays;
    } else {
      SMELT_ASSIGN_OR_RETURN(input, pool_.Get(stored[arrays], arrays, pages));
      ++arrays;
    }
    input_pointers_.push_back(input->data());
    inputs_.push_back(std::move(input));
  }
  for (const hlo::Shape& shape : output_shapes_) {
    if (const int64_t distance = distance_of(arrays); distance > 0 && shape.IsArray()) {
      output_pointers_.push_back(nullptr);
      outputs_.emplace_back();
      distant_.AddOutput(shape, distance, &output_pointers_.back());
      ++arrays;
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(measure::PlacedArray output,
                           measure::PlacedArray::Create(shape.IsArray() ? shape.ByteSize() : 0, arrays++, pages));
    output_pointers_.push_back(output.data());
    outputs_.push_back(std::move(output));
  }
  return distant_.Prepare();
}

absl::StatusOr<std::vector<hlo::Literal>> LoadedProgram::Outputs() const {
  std::vector<hlo::Literal> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(hlo::Literal output, hlo::Literal::Create(output_shapes_[i]));
    if (output.byte_size() > 0) std::memcpy(output.raw(), output_pointers_[i], output.byte_size());
    outputs.push_back(std::move(output));
  }
  return outputs;
}

absl::Status LoadedProgram::Run() {
  distant_.Next();
  return executable_->RunInto(input_pointers_, output_pointers_);
}

nlohmann::json LoadedProgram::ProgramFacts() const {
  nlohmann::json kernels = nlohmann::json::array();
  for (const KernelInfo& kernel : executable_->kernels()) {
    kernels.push_back({{"name", kernel.name},
                       {"hash", kernel.hash.ToHex()},
                       {"opaque", kernel.opaque},
                       {"tile", kernel.tile},
                       {"flops", kernel.flops},
                       {"bytes", kernel.bytes}});
  }
  return {{"compile_seconds", executable_->compile_seconds()},
          {"arena_bytes", executable_->arena_bytes() + executable_->kept_bytes()},
          {"kernels", std::move(kernels)}};
}

nlohmann::json LoadedProgram::KernelFacts() const {
  const KernelInfo& kernel = executable_->kernels()[0];
  return {{"compile_seconds", executable_->compile_seconds()},
          {"trace", kernel.trace},
          {"tile", kernel.tile},
          {"opaque", kernel.opaque}};
}

absl::StatusOr<measure::DeviceProgram::KernelTimes> LoadedProgram::TimeKernels(int rounds) {
  const size_t count = executable_->kernels().size();
  KernelTimes times{std::vector<double>(count, std::numeric_limits<double>::infinity()), std::vector<double>(count),
                    std::vector<int64_t>(count)};
  std::vector<std::vector<double>> executions, every(count);
  for (int round = 0; round < rounds; ++round) {
    executions.assign(count, {});
    SMELT_RETURN_IF_ERROR(executable_->RunInto(input_pointers_, output_pointers_, {.kernel_seconds = &executions}));
    for (size_t k = 0; k < count; ++k) {
      double sum = 0;
      for (double seconds : executions[k]) sum += seconds;
      times.seconds[k] = std::min(times.seconds[k], sum);
      times.executions[k] = static_cast<int64_t>(executions[k].size());
      every[k].insert(every[k].end(), executions[k].begin(), executions[k].end());
    }
  }
  for (size_t k = 0; k < count; ++k) {
    // One that stands in a branch that was not taken took nothing.
    times.median[k] = every[k].empty() ? 0 : measure::Median(std::move(every[k]));
  }
  return times;
}

}  // namespace smelt::cpu
