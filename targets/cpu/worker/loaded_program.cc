#include "targets/cpu/worker/loaded_program.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "hlo/golden/inputs.h"
#include "hlo/golden/safetensors.h"
#include "hlo/text/parser.h"
#include "measure/outcome.h"

namespace smelt::cpu {
namespace {

using cpu::Executable;

// An array's shape in the order of the file and of the formula.
hlo::Shape Plain(const hlo::Shape& shape) { return hlo::Shape::Array(shape.element_type, shape.dimensions); }

absl::StatusOr<std::vector<hlo::Literal>> ReadInputs(const std::string& path, const std::vector<hlo::Shape>& leaves) {
  const auto refused = [](absl::string_view why) { return absl::UnavailableError(why); };
  const absl::StatusOr<hlo::SafetensorsFile> file = hlo::ReadSafetensors(path);
  if (!file.ok()) return refused(file.status().message());
  size_t count = 0;
  for (const hlo::NamedTensor& tensor : file->tensors) count += absl::StartsWith(tensor.name, "in.");
  if (count != leaves.size()) {
    return refused(absl::StrCat(path, ": has ", count, " inputs (in.0, in.1, ...), and the parameters have ",
                                leaves.size(), " arrays"));
  }
  std::vector<hlo::Literal> values;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::string name = absl::StrCat("in.", i);
    const hlo::Literal* stored = file->Find(name);
    if (stored == nullptr) return refused(absl::StrCat(path, ": has no input `", name, "`"));
    absl::StatusOr<hlo::Literal> value = hlo::FromStorable(*stored, leaves[i]);
    if (!value.ok()) return refused(absl::StrCat(path, ": input `", name, "`: ", value.status().message()));
    values.push_back(*std::move(value));
  }
  return values;
}

}  // namespace

absl::StatusOr<InputPool::Array> InputPool::Get(const hlo::Shape& shape, int64_t leaf, measure::InputKind kind) {
  const hlo::Shape plain = Plain(shape);
  std::string key = absl::StrCat(leaf, " ", plain.ToString(), " ", static_cast<int>(kind));
  if (auto known = arrays_.find(key); known != arrays_.end()) return known->second;
  SMELT_ASSIGN_OR_RETURN(const hlo::Literal value, hlo::MakeInput(plain, leaf, measure::RangeOf(kind, plain)));
  return Keep(std::move(key), value, leaf);
}

absl::StatusOr<InputPool::Array> InputPool::Get(const hlo::Literal& value, int64_t leaf) {
  const Hash128 content = HashOf({static_cast<const char*>(value.raw()), static_cast<size_t>(value.byte_size())});
  std::string key = absl::StrCat(leaf, " ", value.shape().ToString(), " ", content.ToHex());
  if (auto known = arrays_.find(key); known != arrays_.end()) return known->second;
  return Keep(std::move(key), value, leaf);
}

absl::StatusOr<InputPool::Array> InputPool::Keep(std::string key, const hlo::Literal& value, int64_t leaf) {
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
  SMELT_ASSIGN_OR_RETURN(measure::PlacedArray array, measure::PlacedArray::Create(value.byte_size(), leaf));
  if (array.size() > 0) std::memcpy(array.data(), value.raw(), array.size());
  bytes_ += array.size();
  return arrays_[std::move(key)] = std::make_shared<const measure::PlacedArray>(std::move(array));
}

absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadedProgram::Compile(const std::string& text,
                                                                      const cpu::Target& target,
                                                                      const cpu::ExecutableOptions& options) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, hlo::ParseModule(text, {.file_name = "candidate"}));
  std::unique_ptr<LoadedProgram> program(new LoadedProgram);
  SMELT_ASSIGN_OR_RETURN(program->executable_, Executable::Compile(*module, target, options));
  std::vector<const hlo::Shape*> inputs, outputs;
  for (const hlo::Instruction* parameter : module->entry()->Parameters()) parameter->shape().AppendLeaves(&inputs);
  for (const hlo::Shape* shape : inputs) program->input_shapes_.push_back(*shape);
  module->entry()->root()->shape().AppendLeaves(&outputs);
  for (const hlo::Shape* shape : outputs) program->output_shapes_.push_back(*shape);
  return program;
}

absl::Status LoadedProgram::TakeInputs(const InputSource& source, InputPool& pool) {
  std::vector<hlo::Shape> leaves;
  for (const hlo::Shape& shape : input_shapes_) {
    if (shape.IsArray()) leaves.push_back(Plain(shape));
  }
  std::vector<hlo::Literal> stored;
  if (!source.file.empty()) {
    SMELT_ASSIGN_OR_RETURN(stored, ReadInputs(source.file, leaves));
  }
  int64_t arrays = 0;
  for (const hlo::Shape& shape : input_shapes_) {
    InputPool::Array input;
    if (!shape.IsArray()) {
      SMELT_ASSIGN_OR_RETURN(measure::PlacedArray nothing, measure::PlacedArray::Create(0, arrays));
      input = std::make_shared<const measure::PlacedArray>(std::move(nothing));
    } else if (source.file.empty()) {
      SMELT_ASSIGN_OR_RETURN(input, pool.Get(shape, arrays++, source.kind));
    } else {
      SMELT_ASSIGN_OR_RETURN(input, pool.Get(stored[arrays], arrays));
      ++arrays;
    }
    input_pointers_.push_back(input->data());
    inputs_.push_back(std::move(input));
  }
  for (const hlo::Shape& shape : output_shapes_) {
    SMELT_ASSIGN_OR_RETURN(measure::PlacedArray output,
                           measure::PlacedArray::Create(shape.IsArray() ? shape.ByteSize() : 0, arrays++));
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
  for (size_t k = 0; k < count; ++k) times.median[k] = measure::Median(std::move(every[k]));
  return times;
}

}  // namespace smelt::cpu
