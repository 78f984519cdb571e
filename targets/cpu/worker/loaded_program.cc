#include "targets/cpu/worker/loaded_program.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "hlo/file/message.h"
#include "hlo/golden/inputs.h"
#include "measure/outcome.h"
#include "nlohmann/json.hpp"

namespace smelt::cpu {
namespace {

using cpu::Executable;

// An array's shape in the order of the file and of the formula.
hlo::Shape Plain(const hlo::Shape& shape) { return hlo::Shape::Array(shape.element_type, shape.dimensions); }

}  // namespace

absl::StatusOr<InputPool::Array> InputPool::Get(const hlo::Shape& shape, int64_t leaf, const hlo::InputRange& range,
                                                Pages pages) {
  const hlo::Shape plain = Plain(shape);
  std::string key =
      absl::StrCat(leaf, " ", plain.ToString(), " ", range.low, " ", range.high, " ", static_cast<int>(pages));
  if (auto known = arrays_.find(key); known != arrays_.end()) return known->second;
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal value, hlo::MakeInput(plain, leaf, range));
  return Keep(std::move(key), value, leaf, pages);
}

absl::StatusOr<InputPool::Array> InputPool::Get(const hlo::Literal& value, int64_t leaf, Pages pages) {
  const Hash128 content = HashOf({static_cast<const char*>(value.raw()), static_cast<size_t>(value.byte_size())});
  std::string key =
      absl::StrCat(leaf, " ", value.shape().ToString(), " ", content.ToHex(), " ", static_cast<int>(pages));
  if (auto known = arrays_.find(key); known != arrays_.end()) return known->second;
  return Keep(std::move(key), value, leaf, pages);
}

absl::StatusOr<InputPool::Array> InputPool::Keep(std::string key, const hlo::Literal& value, int64_t leaf,
                                                 Pages pages) {
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
  SMELT_ASSIGN_OR_RETURN(measure::PlacedArray array, measure::PlacedArray::Create(value.byte_size(), leaf, pages));
  if (array.size() > 0) std::memcpy(array.data(), value.raw(), array.size());
  bytes_ += array.size();
  return arrays_[std::move(key)] = std::make_shared<const measure::PlacedArray>(std::move(array));
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Compile(const std::string& text,
                                                                      const cpu::Target& target,
                                                                      const cpu::ExecutableOptions& options,
                                                                      InputPool& pool) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::FromMessage(text, "candidate"));
  std::unique_ptr<LoadedProgram> program(new LoadedProgram(pool));
  SMELT_ASSIGN_OR_RETURN(program->executable_, Executable::Compile(*module, target, options));
  std::vector<const hlo::Shape*> inputs, outputs;
  for (const hlo::Instruction* parameter : module->entry()->Parameters()) parameter->shape().AppendLeaves(&inputs);
  for (const hlo::Shape* shape : inputs) program->input_shapes_.push_back(*shape);
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
  for (const hlo::Shape& shape : input_shapes_) {
    InputPool::Array input;
    if (!shape.IsArray()) {
      SMELT_ASSIGN_OR_RETURN(measure::PlacedArray nothing, measure::PlacedArray::Create(0, arrays, pages));
      input = std::make_shared<const measure::PlacedArray>(std::move(nothing));
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
    SMELT_ASSIGN_OR_RETURN(measure::PlacedArray output,
                           measure::PlacedArray::Create(shape.IsArray() ? shape.ByteSize() : 0, arrays++, pages));
    output_pointers_.push_back(output.data());
    outputs_.push_back(std::move(output));
  }
  return absl::OkStatus();
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
