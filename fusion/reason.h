// Why two instructions do not share a kernel: one code a rule, the same everywhere (legalisation, `inspect --why`,
// JSON).
//
//   ReasonInfo info = Describe(Reason::kRecompute);   // {"recompute", "the producer's work would be repeated ..."}
#pragma once

#include <cstdint>
#include <string_view>

namespace smelt::fusion {

enum class Reason : uint8_t {
  kLegal,
  // The pair is no decision.
  kNoUse,             // the consumer does not read the producer
  kNotKernel,         // parameters, constants, tuples, control flow
  kFreeRider,         // lives inside whoever uses it
  kOpaque,            // no loop nest: runs alone
  kOrder,             // control dependencies or side effects
  kOtherComputation,  // in different computations, or in one that is no program text (a reducer)
  // Categories.
  kTupleResult,
  kInPlace,
  kOverwritten,
  kTwoContractions,
  kContractionTile,
  kContractionConsumer,
  kContractionOperand,
  kContractionOutputs,
  kReductionRows,
  kReductionConsumer,
  kConcatenate,
  // Work.
  kRecompute,
  kCopies,
  // Limits.
  kOperandLimit,
  kCodeLimit,
  kDepthLimit,
  kScratchLimit,
  kReductionLimit,
  kEvaluations,
  // Several outputs.
  kCycle,
  kShapes,
  kInactive,
  // Nothing forbids it.
  kNotChosen,
};

struct ReasonInfo {
  std::string_view code;  // for machines
  std::string_view text;  // for people
};

ReasonInfo Describe(Reason reason);

}  // namespace smelt::fusion
