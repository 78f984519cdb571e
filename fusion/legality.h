// Legal configurations, and why two instructions do not share a kernel.
//
//   Config legal = Legalize(space, config);
//   Explanation why = Why(space, legal, *add, *maximum);
//   Describe(why.reason).text
//
// The rules, in the order in which they are tried, are those of reason.h; their figures come from Rules.
#pragma once

#include <vector>

#include "fusion/config.h"
#include "fusion/reason.h"
#include "fusion/space.h"

namespace smelt::fusion {

struct Dropped {
  int32_t decision;
  Reason reason;
};

// Drops what the rules forbid, walking the decisions in the order that partition.h describes. The result is canonical:
// legalising it again changes nothing, and configurations that mean the same kernels through dropped bits become equal.
// Near linear in the module. `dropped`, where given, receives every dropped decision with its reason. The configuration
// must have the space's size.
Config Legalize(const Space& space, const Config& config, std::vector<Dropped>* dropped = nullptr);

struct Explanation {
  Reason reason = Reason::kLegal;  // kLegal: the configuration fuses them
  int32_t decision = -1;           // where the pair is a decision
};

// Whether the consumer computes the producer inside its kernel under a legal configuration, and if not, which rule
// forbids it now (kNotChosen: none does).
Explanation Why(const Space& space, const Config& legal, const hlo::Instruction& producer,
                const hlo::Instruction& consumer);

}  // namespace smelt::fusion
