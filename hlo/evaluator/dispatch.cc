#include <array>

#include "hlo/evaluator/handlers.h"

namespace smelt::hlo {
namespace {

struct Row {
  Opcode opcode;
  Handler handler;
};

// Every opcode that runs; elementwise ones have one handler, which works by their kernel.
constexpr Row kRows[] = {
    {Opcode::kTuple, &EvaluateTuple},
    {Opcode::kGetTupleElement, &EvaluateGetTupleElement},
    {Opcode::kCall, &EvaluateCall},
    {Opcode::kFusion, &EvaluateCall},
    {Opcode::kWhile, &EvaluateWhile},
    {Opcode::kConditional, &EvaluateConditional},
    {Opcode::kOptimizationBarrier, &EvaluatePassThrough},
    {Opcode::kDomain, &EvaluatePassThrough},
    {Opcode::kAddDependency, &EvaluatePassThrough},
    {Opcode::kAfterAll, &EvaluateToken},
    {Opcode::kPartitionId, &EvaluateDeviceId},
    {Opcode::kReplicaId, &EvaluateDeviceId},
    {Opcode::kCopyStart, &EvaluateCopyStart},
    {Opcode::kCopyDone, &EvaluateCopyDone},
    {Opcode::kAsyncStart, &EvaluateAsyncStart},
    {Opcode::kAsyncUpdate, &EvaluatePassThrough},
    {Opcode::kAsyncDone, &EvaluateAsyncDone},
    {Opcode::kMap, &EvaluateMap},
    {Opcode::kStochasticConvert, &EvaluateStochasticConvert},
    {Opcode::kBroadcast, &EvaluateBroadcast},
    {Opcode::kTranspose, &EvaluateTranspose},
    {Opcode::kReshape, &EvaluateReshape},
    {Opcode::kBitcast, &EvaluateBitcast},
    {Opcode::kBitcastConvert, &EvaluateBitcastConvert},
    {Opcode::kSlice, &EvaluateSlice},
    {Opcode::kReverse, &EvaluateReverse},
    {Opcode::kConcatenate, &EvaluateConcatenate},
    {Opcode::kPad, &EvaluatePad},
    {Opcode::kIota, &EvaluateIota},
    {Opcode::kSetDimensionSize, &EvaluateSetDimensionSize},
    {Opcode::kGetDimensionSize, &EvaluateGetDimensionSize},
    {Opcode::kDynamicReshape, &EvaluateDynamicReshape},
    {Opcode::kDynamicSlice, &EvaluateDynamicSlice},
    {Opcode::kDynamicUpdateSlice, &EvaluateDynamicUpdateSlice},
    {Opcode::kGather, &EvaluateGather},
    {Opcode::kScatter, &EvaluateScatter},
    {Opcode::kReduce, &EvaluateReduce},
    {Opcode::kReduceWindow, &EvaluateReduceWindow},
    {Opcode::kSelectAndScatter, &EvaluateSelectAndScatter},
    {Opcode::kScan, &EvaluateScan},
    {Opcode::kBatchNormTraining, &EvaluateBatchNormTraining},
    {Opcode::kBatchNormInference, &EvaluateBatchNormInference},
    {Opcode::kBatchNormGrad, &EvaluateBatchNormGrad},
    {Opcode::kDot, &EvaluateDot},
    {Opcode::kRaggedDot, &EvaluateRaggedDot},
    {Opcode::kScaledDot, &EvaluateScaledDot},
    {Opcode::kConvolution, &EvaluateConvolution},
    {Opcode::kSort, &EvaluateSort},
    {Opcode::kTopK, &EvaluateTopK},
    {Opcode::kRngBitGenerator, &EvaluateRngBitGenerator},
    {Opcode::kRng, &EvaluateRng},
    {Opcode::kFft, &EvaluateFft},
    {Opcode::kCholesky, &EvaluateCholesky},
    {Opcode::kTriangularSolve, &EvaluateTriangularSolve},
    {Opcode::kCustomCall, &EvaluateCustomCall},
};

constexpr std::array<Handler, kOpcodeCount> MakeTable() {
  std::array<Handler, kOpcodeCount> table{};
  for (const Row& row : kRows) table[static_cast<int>(row.opcode)] = row.handler;
  return table;
}

}  // namespace

Handler FindHandler(Opcode opcode) {
  static constexpr std::array<Handler, kOpcodeCount> kTable = MakeTable();
  const Handler handler = kTable[static_cast<int>(opcode)];
  return handler == nullptr && IsElementwise(opcode) ? &EvaluateElementwise : handler;
}

}  // namespace smelt::hlo
