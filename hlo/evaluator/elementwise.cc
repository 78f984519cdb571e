#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/scalar_function.h"
#include "hlo/small_float.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kSplatBlock = 1024;

// Rough, and only for the decision to use threads.
double SecondsPerElement(const Instruction& instruction) {
  return HasFlag(instruction.opcode(), kExpensive) ? 5e-9 : 0.4e-9;
}

// The scalar operands of clamp and select, spread over a block once.
absl::StatusOr<std::shared_ptr<Literal>> Splat(Evaluation& evaluation, const Value& scalar) {
  const PrimitiveType type = scalar.shape().element_type;
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> block, evaluation.NewScratch(type, kSplatBlock));
  const int64_t bytes = StorageBytes(type);
  for (int64_t i = 0; i < kSplatBlock; ++i)
    std::memcpy(block->data<char>().data() + i * bytes, scalar.array().raw(), bytes);
  return block;
}

}  // namespace

absl::StatusOr<Value> EvaluateElementwise(const Call& call) {
  const Shape& shape = call.shape();
  const ElementwiseKernel& kernel = *call.step.kernel;
  const int64_t count = shape.ElementCount();

  const char* operands[3];
  int64_t operand_bytes[3];
  std::shared_ptr<Literal> splats[3];
  bool splat = false;
  for (int i = 0; i < kernel.arity; ++i) {
    const Value& operand = call.operand(i);
    operands[i] = operand.data<char>();
    operand_bytes[i] = StorageBytes(operand.shape().element_type);
    if (shape.rank() > 0 && operand.shape().rank() == 0) {
      SMELT_ASSIGN_OR_RETURN(splats[i], Splat(call.evaluation, operand));
      operands[i] = splats[i]->data<char>().data();
      operand_bytes[i] = 0;
      splat = true;
    }
  }

  std::vector<int64_t> runtime_sizes;
  for (const Value& operand : call.operands) {
    if (operand.runtime_sizes() != nullptr && operand.shape().rank() == shape.rank())
      runtime_sizes = *operand.runtime_sizes();
  }
  // The result is written in place where an operand of the same storage size dies here: loops read an element before
  // they write it.
  std::shared_ptr<Literal> result;
  for (int i = 0; i < kernel.arity && result == nullptr; ++i) {
    Value& operand = call.operand(i);
    if (operand.IsUnique() && operand.shape().element_type == shape.element_type &&
        operand.shape().SameDimensions(shape)) {
      result = operand.TakeArray();
    }
  }
  if (result == nullptr) {
    SMELT_ASSIGN_OR_RETURN(result, call.evaluation.NewArray(shape));
  }
  char* target = static_cast<char*>(result->raw());
  const int64_t result_bytes = StorageBytes(shape.element_type);
  call.evaluation.ParallelFor(count, SecondsPerElement(call.instruction), [&](int64_t begin, int64_t end) {
    const int64_t step = splat ? kSplatBlock : end - begin;
    for (int64_t start = begin; start < end; start += step) {
      const void* block[3];
      for (int i = 0; i < kernel.arity; ++i) block[i] = operands[i] + start * operand_bytes[i];
      kernel.Run(block, target + start * result_bytes, std::min(step, end - start));
    }
  });
  Value value(std::move(result));
  if (!runtime_sizes.empty()) value.set_runtime_sizes(std::move(runtime_sizes));
  return value;
}

absl::StatusOr<Value> EvaluateMap(const Call& call) {
  const Shape& shape = call.shape();
  const int64_t count = shape.ElementCount();
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  std::vector<const void*> parameters;
  for (const Value& operand : call.operands) parameters.push_back(operand.array().raw());
  ScalarFunction function(call.evaluation, *call.instruction.called(0), call.step.programs[0].get());
  SMELT_RETURN_IF_ERROR(function.Apply(parameters, {result->raw()}, count));
  return Value(std::move(result));
}

// Rounds to one of the two neighbours in the result type with probabilities by distance: up when the random bits, as a
// fraction of their range, are below the distance to the lower neighbour.
absl::StatusOr<Value> EvaluateStochasticConvert(const Call& call) {
  const Shape& shape = call.shape();
  const Literal& operand = call.operand(0).array();
  const Literal& random = call.operand(1).array();
  if (!IsFloat(operand.shape().element_type) || !(IsInteger(shape.element_type))) {
    return absl::UnimplementedError(
        absl::StrCat("stochastic-convert from ", operand.shape().ToString(), " to ", shape.ToString()));
  }
  SMELT_ASSIGN_OR_RETURN(std::shared_ptr<Literal> result, call.evaluation.NewArray(shape));
  const double range = std::exp2(BitWidth(random.shape().element_type));
  const int bits = BitWidth(shape.element_type);
  const double high = std::exp2(IsSigned(shape.element_type) ? bits - 1 : bits);
  const double low = IsSigned(shape.element_type) ? -high : 0;
  for (int64_t i = 0; i < shape.ElementCount(); ++i) {
    const double value = operand.GetDouble(i);
    const double magnitude = std::trunc(std::abs(value));
    const double fraction = std::abs(value) - magnitude;
    const double threshold =
        static_cast<double>(static_cast<uint64_t>(random.GetInteger(i)) &
                            (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(random.shape().element_type)) - 1));
    const double rounded = magnitude + (threshold < fraction * range ? 1 : 0);
    const double with_sign = value < 0 ? -rounded : rounded;
    if (std::isnan(value)) {
      result->SetInteger(i, 0);
    } else if (with_sign >= high) {
      result->SetInteger(i, bits == 64 && !IsSigned(shape.element_type) ? -1 : static_cast<int64_t>(high - 1));
    } else {
      result->SetDouble(i, std::max(with_sign, low));
    }
  }
  return Value(std::move(result));
}

}  // namespace smelt::hlo
