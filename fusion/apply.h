// A configuration made into a program: plain HLO with fusion instructions, which any XLA tool reads.
//
//   std::unique_ptr<hlo::Module> fused = Apply(space, config);
//   std::cout << hlo::ToText(*fused);
//
// Every kernel of more than one instruction becomes `fusion(...), kind=..., calls=...`; one with several outputs
// returns a tuple, taken apart by get-tuple-element. Other instructions keep their names. Dead instructions are left
// out. The header's frontend_attributes name the fingerprint of the module before fusion, as `smelt_before_fusion`.
#pragma once

#include <memory>

#include "fusion/config.h"
#include "fusion/partition.h"
#include "fusion/space.h"
#include "hlo/module.h"

namespace smelt::fusion {

// Legalises first, so that any configuration of the space's size gives a valid program that computes the same.
std::unique_ptr<hlo::Module> Apply(const Space& space, const Config& config);
// The same for a partition as it is now.
std::unique_ptr<hlo::Module> Apply(Partition& partition);

}  // namespace smelt::fusion
