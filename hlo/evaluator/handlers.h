// Inside the evaluator: the handlers of opcodes, one file per family. dispatch.cc has the table.
#pragma once

#include "hlo/evaluator/evaluation.h"
#include "hlo/evaluator/plan.h"

namespace smelt::hlo {

// elementwise.cc
absl::StatusOr<Value> EvaluateElementwise(const Call& call);
absl::StatusOr<Value> EvaluateMap(const Call& call);
absl::StatusOr<Value> EvaluateStochasticConvert(const Call& call);

// control_flow.cc
absl::StatusOr<Value> EvaluateTuple(const Call& call);
absl::StatusOr<Value> EvaluateGetTupleElement(const Call& call);
absl::StatusOr<Value> EvaluateCall(const Call& call);
absl::StatusOr<Value> EvaluateWhile(const Call& call);
absl::StatusOr<Value> EvaluateConditional(const Call& call);
absl::StatusOr<Value> EvaluatePassThrough(const Call& call);
absl::StatusOr<Value> EvaluateToken(const Call& call);
absl::StatusOr<Value> EvaluateDeviceId(const Call& call);
absl::StatusOr<Value> EvaluateCopyStart(const Call& call);
absl::StatusOr<Value> EvaluateCopyDone(const Call& call);
absl::StatusOr<Value> EvaluateAsyncStart(const Call& call);
absl::StatusOr<Value> EvaluateAsyncDone(const Call& call);

// data_movement.cc
absl::StatusOr<Value> EvaluateBroadcast(const Call& call);
absl::StatusOr<Value> EvaluateTranspose(const Call& call);
absl::StatusOr<Value> EvaluateReshape(const Call& call);
absl::StatusOr<Value> EvaluateBitcast(const Call& call);
absl::StatusOr<Value> EvaluateBitcastConvert(const Call& call);
absl::StatusOr<Value> EvaluateSlice(const Call& call);
absl::StatusOr<Value> EvaluateReverse(const Call& call);
absl::StatusOr<Value> EvaluateConcatenate(const Call& call);
absl::StatusOr<Value> EvaluatePad(const Call& call);
absl::StatusOr<Value> EvaluateIota(const Call& call);

// dynamic_size.cc
absl::StatusOr<Value> EvaluateSetDimensionSize(const Call& call);
absl::StatusOr<Value> EvaluateGetDimensionSize(const Call& call);
absl::StatusOr<Value> EvaluateDynamicReshape(const Call& call);
// Whether an opcode's handler minds operands of sizes that are known only at run time; all others run by way of
// RunAtRuntimeSizes where an operand has such.
bool HandlesRuntimeSizes(Opcode opcode);

// runtime_sizes.cc
// Unimplemented for opcodes that do not run on such arrays.
absl::StatusOr<Value> RunAtRuntimeSizes(const Call& call);
// The same elements in row-major order, as an array of `sizes` within `bounds`.
absl::StatusOr<Value> WithSizes(Evaluation& evaluation, const Value& value, const Shape& bounds,
                                std::vector<int64_t> sizes);

// dynamic_slice.cc, gather.cc, scatter.cc
absl::StatusOr<Value> EvaluateDynamicSlice(const Call& call);
absl::StatusOr<Value> EvaluateDynamicUpdateSlice(const Call& call);
absl::StatusOr<Value> EvaluateGather(const Call& call);
absl::StatusOr<Value> EvaluateScatter(const Call& call);

// reduce.cc, reduce_window.cc, select_and_scatter.cc, scan.cc, batch_norm.cc
absl::StatusOr<Value> EvaluateReduce(const Call& call);
absl::StatusOr<Value> EvaluateReduceWindow(const Call& call);
absl::StatusOr<Value> EvaluateSelectAndScatter(const Call& call);
absl::StatusOr<Value> EvaluateScan(const Call& call);
absl::StatusOr<Value> EvaluateBatchNormTraining(const Call& call);
absl::StatusOr<Value> EvaluateBatchNormInference(const Call& call);
absl::StatusOr<Value> EvaluateBatchNormGrad(const Call& call);

// dot.cc, ragged_dot.cc, convolution.cc
absl::StatusOr<Value> EvaluateDot(const Call& call);
absl::StatusOr<Value> EvaluateRaggedDot(const Call& call);
absl::StatusOr<Value> EvaluateScaledDot(const Call& call);
absl::StatusOr<Value> EvaluateConvolution(const Call& call);

// sort.cc, random.cc, fft.cc, linear_algebra.cc, custom_call.cc
absl::StatusOr<Value> EvaluateSort(const Call& call);
absl::StatusOr<Value> EvaluateTopK(const Call& call);
absl::StatusOr<Value> EvaluateRngBitGenerator(const Call& call);
absl::StatusOr<Value> EvaluateRng(const Call& call);
absl::StatusOr<Value> EvaluateFft(const Call& call);
absl::StatusOr<Value> EvaluateCholesky(const Call& call);
absl::StatusOr<Value> EvaluateTriangularSolve(const Call& call);
absl::StatusOr<Value> EvaluateCustomCall(const Call& call);

}  // namespace smelt::hlo
