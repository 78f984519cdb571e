// Kernels that XLA may run in place: their result takes the memory of something that they read.
//
// XLA has made copies where a program needs them before fusion, and none where an instruction can write each element
// over the one that it has just read: states of loops, donated parameters. A call cannot do so.
#pragma once

#include "absl/container/flat_hash_set.h"
#include "hlo/module.h"

namespace smelt::embed {

// Instructions of the module that read memory which is written over during the program, and whose result may be what is
// written there.
class InPlaceHazards {
 public:
  explicit InPlaceHazards(const hlo::Module& module);
  bool Has(const hlo::Instruction& instruction) const;

 private:
  absl::flat_hash_set<const hlo::Instruction*> overwritten_;
};

}  // namespace smelt::embed
