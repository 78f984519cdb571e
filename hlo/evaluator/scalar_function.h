// A called computation on scalars, applied to arrays of lanes: by its program where it has one, else by evaluating it
// lane after lane.
//
//   ScalarFunction sum_of(call.evaluation, *call.instruction.called(0), program.get());   // may be null
//   SMELT_RETURN_IF_ERROR(sum_of.Apply(std::vector{a, b}, std::vector{sum}, 1000));
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "hlo/evaluator/evaluation.h"
#include "hlo/evaluator/scalar_program.h"

namespace smelt::hlo {

// Not thread-safe; make one per thread. Without a program, one may only run at a time in an evaluation.
class ScalarFunction {
 public:
  ScalarFunction(Evaluation& evaluation, const Computation& computation, const ScalarProgram* program);

  // One pointer to contiguous elements per parameter and result. A result may lie where a parameter of the same storage
  // size lies.
  absl::Status Apply(absl::Span<const void* const> parameters, absl::Span<void* const> results, int64_t count);

 private:
  absl::Status ApplyByEvaluation(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                                 int64_t count);

  Evaluation& evaluation_;
  const Computation& computation_;
  std::vector<PrimitiveType> parameter_types_;
  std::vector<int64_t> parameter_bytes_;
  std::vector<int64_t> result_bytes_;
  std::optional<ScalarProgram::Lanes> lanes_;
  std::vector<const void*> block_parameters_;
  std::vector<void*> block_results_;
};

// Accumulates lanes by a reduction's computation: accumulator = f(accumulator, element) for one or several arrays at
// once.
//
// Sums and products of floats are kept in f64 and rounded once, in Finish.
class LaneReducer {
 public:
  static constexpr int64_t kLanes = ScalarProgram::kLanes;

  // `types` of the arrays; `initial` points to one element of each.
  LaneReducer(Evaluation& evaluation, const Computation& computation, const ScalarProgram* program,
              std::vector<PrimitiveType> types, std::vector<const void*> initial);

  // All lanes become the initial values.
  void Start(int64_t lanes);
  // Lane first + i takes the element at elements[a] + i * byte_strides[a] of each array a, for i < count.
  absl::Status Add(absl::Span<const char* const> elements, absl::Span<const int64_t> byte_strides, int64_t first,
                   int64_t count);
  // Writes the lanes to contiguous elements, one pointer per array.
  void Finish(absl::Span<char* const> results, int64_t lanes);

 private:
  std::vector<PrimitiveType> types_;
  std::vector<const void*> initial_;
  std::vector<PrimitiveType> kept_types_;  // of the accumulators
  std::vector<Literal> accumulators_;
  std::vector<Literal> gathered_;
  std::vector<Literal> widened_;
  std::optional<ElementwiseKernel> kernel_;  // of a single binary operation in the kept type
  std::optional<ScalarFunction> function_;   // otherwise
};

// The kernel for reducing elements of `type` by one binary operation, in the type in which accumulators are kept;
// nothing when the body is more.
std::optional<ElementwiseKernel> AccumulatingKernel(const ScalarProgram* program, PrimitiveType type);

// Elements of `type` to and from the type in which AccumulatingKernel keeps them.
void ToKeptType(PrimitiveType type, PrimitiveType kept, const void* elements, void* target, int64_t count);
void FromKeptType(PrimitiveType kept, PrimitiveType type, const void* elements, void* target, int64_t count);

}  // namespace smelt::hlo
