#include "fusion/reason.h"

#include <iterator>

namespace smelt::fusion {
namespace {

struct Row {
  Reason reason;
  ReasonInfo info;
};

constexpr Row kReasons[] = {
    {Reason::kLegal, {"legal", "no rule forbids it"}},
    {Reason::kNoUse, {"no-use", "the second instruction does not read the first"}},
    {Reason::kNotKernel, {"not-a-kernel", "parameters, constants, tuples and control flow are no kernels"}},
    {Reason::kFreeRider,
     {"free-rider", "scalar constants, their broadcasts, iota and bitcasts live inside whoever uses them"}},
    {Reason::kOpaque, {"opaque", "there is no loop nest for one of the two, so it runs alone"}},
    {Reason::kOrder, {"order", "a control dependency or a side effect fixes when it runs"}},
    {Reason::kOtherComputation,
     {"other-computation", "they stand in different computations, or in one that does not run kernels"}},
    {Reason::kTupleResult, {"tuple-result", "a producer with several results has to end its kernel"}},
    {Reason::kInPlace,
     {"in-place", "a dynamic-update-slice writes its operand's buffer, which nothing else in the kernel may read"}},
    {Reason::kOverwritten,
     {"overwritten",
      "the producer reads a buffer that is written over later, or is the copy that keeps a value from that"}},
    {Reason::kTwoContractions, {"two-contractions", "a kernel holds at most one dot or convolution"}},
    {Reason::kContractionTile,
     {"contraction-tile", "a contraction and a reduction share a kernel only if a tile holds the reduced dimension"}},
    {Reason::kContractionConsumer,
     {"contraction-consumer", "only elementwise work on its own elements follows a contraction in its kernel"}},
    {Reason::kContractionOperand,
     {"contraction-operand", "the target does not read a contraction's operands through other work"}},
    {Reason::kContractionOutputs, {"contraction-outputs", "a kernel with a contraction has one output"}},
    {Reason::kReductionRows,
     {"reduction-rows",
      "the consumer does not keep the reduction's outer dimensions, or joins reductions of other rows"}},
    {Reason::kReductionConsumer,
     {"reduction-consumer", "after a reduction only elementwise work, broadcasts along rows and reductions of rows"}},
    {Reason::kConcatenate, {"concatenate", "a concatenation of many operands ends its kernel"}},
    {Reason::kRecompute,
     {"recompute", "the producer's work would be repeated beyond the target's factor and does not fit the scratch"}},
    {Reason::kCopies, {"copies", "a contraction or reduction would be computed in too many kernels"}},
    {Reason::kOperandLimit, {"operand-limit", "too many operands and outputs"}},
    {Reason::kCodeLimit, {"code-limit", "too many instructions"}},
    {Reason::kDepthLimit, {"depth-limit", "the chain of instructions is too long"}},
    {Reason::kScratchLimit, {"scratch-limit", "too many bytes kept inside the kernel"}},
    {Reason::kReductionLimit, {"reduction-limit", "too many reductions"}},
    {Reason::kEvaluations,
     {"evaluations", "an instruction would be read at too many indices, each with code of its own"}},
    {Reason::kCycle, {"cycle", "a kernel with these outputs could wait for itself"}},
    {Reason::kShapes, {"shapes", "the outputs do not run over the same elements"}},
    {Reason::kInactive, {"inactive", "there is nothing to join: one of the kernels does not exist, or both are one"}},
    {Reason::kNotChosen, {"not-chosen", "legal, and the configuration keeps them apart"}},
};

}  // namespace

ReasonInfo Describe(Reason reason) {
  for (const Row& row : kReasons) {
    if (row.reason == reason) return row.info;
  }
  return {"unknown", "unknown reason"};
}

}  // namespace smelt::fusion
