// Readers of donated parameters, whose memory a result of the module takes.
//
// XLA has seen to it that every such reader comes before the instruction that writes the result. A fusion that takes
// the reader into a consumer reads later, perhaps after that. Safe is what happens on the way to the writer alone,
// element by element: p - rate * g writes each element where it has just read it.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "hlo/module.h"

namespace smelt::xla {

// Instructions that must not be fused into their consumers for the sake of input_output_alias.
absl::flat_hash_set<const hlo::Instruction*> OrderedByDonation(const hlo::Module& module);

// Donated parameters that the program writes over, and everything in their memory.
absl::flat_hash_set<const hlo::Instruction*> DonatedValues(const hlo::Module& module);

}  // namespace smelt::xla
