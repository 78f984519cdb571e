// Which instructions and computations have side effects, found once for a whole module.
//
//   SideEffects effects(module);
//   if (effects.Has(instruction)) ...   // infeed, rng, a while whose body sends, ...
//
// Instruction::HasSideEffect walks everything that an instruction calls at each question; passes that ask it of every
// instruction would pay that over and over, so they ask here. Linear in the module, callees first, no recursion. Valid
// while no instruction with a side effect is added or moved to another computation.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "hlo/module.h"

namespace smelt::hlo {

class SideEffects {
 public:
  explicit SideEffects(const Module& module);

  // What decides is the opcode, a custom call's flag, or something called.
  bool Has(const Instruction& instruction) const;
  bool Has(const Computation& computation) const { return computations_.contains(&computation); }

 private:
  absl::flat_hash_set<const Computation*> computations_;
};

}  // namespace smelt::hlo
