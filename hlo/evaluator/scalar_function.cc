#include "hlo/evaluator/scalar_function.h"

#include <algorithm>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

template <typename T>
void GatherStrided(const char* source, int64_t byte_stride, void* target, int64_t count) {
  auto* out = static_cast<T*>(target);
  for (int64_t i = 0; i < count; ++i) std::memcpy(&out[i], source + i * byte_stride, sizeof(T));
}

void Gather(const char* source, int64_t byte_stride, int64_t element_bytes, void* target, int64_t count) {
  switch (element_bytes) {
    case 1:
      return GatherStrided<uint8_t>(source, byte_stride, target, count);
    case 2:
      return GatherStrided<uint16_t>(source, byte_stride, target, count);
    case 4:
      return GatherStrided<uint32_t>(source, byte_stride, target, count);
    case 8:
      return GatherStrided<uint64_t>(source, byte_stride, target, count);
    default:
      return GatherStrided<std::complex<double>>(source, byte_stride, target, count);
  }
}

}  // namespace

ScalarFunction::ScalarFunction(Evaluation& evaluation, const Computation& computation, const ScalarProgram* program)
    : evaluation_(evaluation), computation_(computation) {
  for (const Instruction* parameter : computation.Parameters()) {
    const PrimitiveType type = parameter == nullptr ? PrimitiveType::kPred : parameter->shape().element_type;
    parameter_types_.push_back(type);
    parameter_bytes_.push_back(StorageBytes(type));
  }
  std::vector<const Shape*> leaves;
  computation.root()->shape().AppendLeaves(&leaves);
  for (const Shape* leaf : leaves) result_bytes_.push_back(StorageBytes(leaf->element_type));
  if (program != nullptr) lanes_.emplace(*program);
  block_parameters_.resize(parameter_types_.size());
  block_results_.resize(result_bytes_.size());
}

absl::Status ScalarFunction::Apply(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                                   int64_t count) {
  if (parameters.size() != parameter_types_.size() || results.size() != result_bytes_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its computation ", computation_.name(), " has another number of parameters or results"));
  }
  if (!lanes_) return ApplyByEvaluation(parameters, results, count);
  if (count <= ScalarProgram::kLanes) {
    lanes_->Run(parameters, results, count);
    return absl::OkStatus();
  }
  for (int64_t start = 0; start < count; start += ScalarProgram::kLanes) {
    for (size_t i = 0; i < parameters.size(); ++i)
      block_parameters_[i] = static_cast<const char*>(parameters[i]) + start * parameter_bytes_[i];
    for (size_t i = 0; i < results.size(); ++i)
      block_results_[i] = static_cast<char*>(results[i]) + start * result_bytes_[i];
    lanes_->Run(block_parameters_, block_results_, std::min(ScalarProgram::kLanes, count - start));
  }
  return absl::OkStatus();
}

absl::Status ScalarFunction::ApplyByEvaluation(absl::Span<const void* const> parameters,
                                               absl::Span<void* const> results, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane) {
    std::vector<Value> arguments;
    for (size_t i = 0; i < parameters.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> scalar, evaluation_.NewArray(Shape::Scalar(parameter_types_[i])));
      std::memcpy(scalar->raw(), static_cast<const char*>(parameters[i]) + lane * parameter_bytes_[i],
                  parameter_bytes_[i]);
      arguments.push_back(Value(std::move(scalar)));
    }
    SMELT_ASSIGN_OR_RETURN(Value value, evaluation_.Run(computation_, std::move(arguments)));
    for (size_t i = 0; i < results.size(); ++i) {
      const Value& result = value.IsTuple() ? value.elements()[i] : value;
      std::memcpy(static_cast<char*>(results[i]) + lane * result_bytes_[i], result.array().raw(), result_bytes_[i]);
    }
  }
  return absl::OkStatus();
}

std::optional<ElementwiseKernel> AccumulatingKernel(const ScalarProgram* program, PrimitiveType type) {
  if (program == nullptr || !program->SingleBinary() || program->result_types()[0] != type) return std::nullopt;
  const bool rounds = *program->SingleBinary() == Opcode::kAdd || *program->SingleBinary() == Opcode::kMultiply;
  const PrimitiveType kept = !IsFloat(type) ? type : rounds ? PrimitiveType::kF64 : ComputeType(type);
  absl::StatusOr<ElementwiseKernel> kernel = FindElementwiseKernel(*program->SingleBinary(), {kept, kept}, kept);
  if (!kernel.ok()) return std::nullopt;
  return *std::move(kernel);
}

void ToKeptType(PrimitiveType type, PrimitiveType kept, const void* elements, void* target, int64_t count) {
  if (type == kept) {
    std::memcpy(target, elements, count * StorageBytes(type));
    return;
  }
  if (kept == PrimitiveType::kF32) return DecodeFloats(type, elements, static_cast<float*>(target), count);
  auto* wide = static_cast<double*>(target);
  if (type == PrimitiveType::kF32) {
    const auto* narrow = static_cast<const float*>(elements);
    for (int64_t i = 0; i < count; ++i) wide[i] = narrow[i];
    return;
  }
  constexpr int64_t kBlock = 256;
  float block[kBlock];
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t size = std::min(kBlock, count - start);
    DecodeFloats(type, static_cast<const char*>(elements) + start * StorageBytes(type), block, size);
    for (int64_t i = 0; i < size; ++i) wide[start + i] = block[i];
  }
}

void FromKeptType(PrimitiveType kept, PrimitiveType type, const void* elements, void* target, int64_t count) {
  if (type == kept) {
    std::memcpy(target, elements, count * StorageBytes(type));
  } else if (kept == PrimitiveType::kF32) {
    EncodeFloats(type, static_cast<const float*>(elements), target, count);
  } else if (type == PrimitiveType::kF32) {
    const auto* wide = static_cast<const double*>(elements);
    for (int64_t i = 0; i < count; ++i) static_cast<float*>(target)[i] = static_cast<float>(wide[i]);
  } else {
    EncodeFloats(type, static_cast<const double*>(elements), target, count);
  }
}

LaneReducer::LaneReducer(Evaluation& evaluation, const Computation& computation, const ScalarProgram* program,
                         std::vector<PrimitiveType> types, std::vector<const void*> initial)
    : types_(std::move(types)), initial_(std::move(initial)), kept_types_(types_) {
  if (types_.size() == 1) kernel_ = AccumulatingKernel(program, types_[0]);
  if (kernel_) {
    kept_types_[0] = kernel_->result_type;
  } else {
    function_.emplace(evaluation, computation, program);
  }
  for (size_t a = 0; a < types_.size(); ++a) {
    accumulators_.push_back(Literal(Shape::Array(kept_types_[a], {kLanes})));
    gathered_.push_back(Literal(Shape::Array(types_[a], {kLanes})));
    widened_.push_back(Literal(Shape::Array(kept_types_[a], {kLanes})));
  }
}

void LaneReducer::Start(int64_t lanes) {
  for (size_t a = 0; a < types_.size(); ++a) {
    alignas(16) char initial[16];
    ToKeptType(types_[a], kept_types_[a], initial_[a], initial, 1);
    const int64_t bytes = StorageBytes(kept_types_[a]);
    char* target = static_cast<char*>(accumulators_[a].raw());
    for (int64_t i = 0; i < lanes; ++i) std::memcpy(target + i * bytes, initial, bytes);
  }
}

absl::Status LaneReducer::Add(absl::Span<const char* const> elements, absl::Span<const int64_t> byte_strides,
                              int64_t first, int64_t count) {
  const void* parameters[2];
  absl::InlinedVector<const void*, 8> all;
  absl::InlinedVector<void*, 4> results;
  const size_t arrays = types_.size();
  for (size_t a = 0; a < arrays; ++a) {
    results.push_back(static_cast<char*>(accumulators_[a].raw()) + first * StorageBytes(kept_types_[a]));
    all.push_back(results.back());
  }
  for (size_t a = 0; a < arrays; ++a) {
    const int64_t bytes = StorageBytes(types_[a]);
    const void* source = elements[a];
    if (byte_strides[a] != bytes && count > 1) {
      Gather(elements[a], byte_strides[a], bytes, gathered_[a].raw(), count);
      source = gathered_[a].raw();
    }
    if (kept_types_[a] != types_[a]) {
      ToKeptType(types_[a], kept_types_[a], source, widened_[a].raw(), count);
      source = widened_[a].raw();
    }
    all.push_back(source);
  }
  if (!kernel_) return function_->Apply(all, results, count);
  parameters[0] = all[0];
  parameters[1] = all[1];
  kernel_->Run(parameters, results[0], count);
  return absl::OkStatus();
}

void LaneReducer::Finish(absl::Span<char* const> results, int64_t lanes) {
  for (size_t a = 0; a < types_.size(); ++a) {
    FromKeptType(kept_types_[a], types_[a], accumulators_[a].raw(), results[a], lanes);
  }
}

}  // namespace smelt::hlo
