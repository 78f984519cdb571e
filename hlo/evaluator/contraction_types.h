// Inside the evaluator: in which type dot and convolution compute, and how arrays get there and back.
#pragma once

#include <complex>

#include "absl/status/statusor.h"
#include "hlo/evaluator/elementwise_kernel.h"
#include "hlo/evaluator/evaluation.h"

namespace smelt::hlo {

// f32 for floats of at most 32 bits, u32 or u64 for integers and predicates (they wrap alike, signed or not), else the
// type itself.
inline PrimitiveType ContractionType(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result) {
  for (PrimitiveType type : {lhs, rhs, result}) {
    if (type == PrimitiveType::kC128) return type;
  }
  if (IsComplex(result))
    return lhs == PrimitiveType::kF64 || rhs == PrimitiveType::kF64 ? PrimitiveType::kC128 : PrimitiveType::kC64;
  for (PrimitiveType type : {lhs, rhs, result}) {
    if (type == PrimitiveType::kF64) return type;
  }
  if (IsFloat(result) || IsFloat(lhs) || IsFloat(rhs)) return PrimitiveType::kF32;
  return BitWidth(result) > 32 ? PrimitiveType::kU64 : PrimitiveType::kU32;
}

// The same elements in another type; the value itself when it has that type.
inline absl::StatusOr<Value> ConvertedTo(Evaluation& evaluation, Value value, PrimitiveType type) {
  const PrimitiveType from = value.shape().element_type;
  if (from == type) return value;
  absl::StatusOr<ElementwiseKernel> kernel = FindElementwiseKernel(Opcode::kConvert, {from}, type);
  if (!kernel.ok()) return kernel.status();
  absl::StatusOr<std::shared_ptr<Literal>> result = evaluation.NewArray(Shape::Array(type, value.shape().dimensions));
  if (!result.ok()) return result.status();
  const char* source = value.data<char>();
  char* target = static_cast<char*>((*result)->raw());
  const int64_t from_bytes = StorageBytes(from), to_bytes = StorageBytes(type);
  evaluation.ParallelFor(value.shape().ElementCount(), 1e-9, [&](int64_t begin, int64_t end) {
    const void* operand[] = {source + begin * from_bytes};
    kernel->Run(operand, target + begin * to_bytes, end - begin);
  });
  return Value(*std::move(result));
}

// What a contraction computed, in its result's type: through f16 for 8-bit and narrower floats, as XLA does.
inline absl::StatusOr<Value> RoundedTo(Evaluation& evaluation, Value value, PrimitiveType type) {
  if (ComputesInF16(type)) {
    absl::StatusOr<Value> half = ConvertedTo(evaluation, std::move(value), PrimitiveType::kF16);
    if (!half.ok()) return half.status();
    value = *std::move(half);
  }
  return ConvertedTo(evaluation, std::move(value), type);
}

// Calls f with a value of the C++ type of a contraction type.
template <typename F>
auto VisitContractionType(PrimitiveType type, F f) {
  switch (type) {
    case PrimitiveType::kF64:
      return f(double{});
    case PrimitiveType::kU32:
      return f(uint32_t{});
    case PrimitiveType::kU64:
      return f(uint64_t{});
    case PrimitiveType::kC64:
      return f(std::complex<float>{});
    case PrimitiveType::kC128:
      return f(std::complex<double>{});
    default:
      return f(float{});
  }
}

}  // namespace smelt::hlo
