// The part of a computation that works on arrays whose size is known only at run time.
//
// Steps exchange plain buffers, which do not carry such sizes: that part runs as one opaque operation, by the
// evaluator. All else runs compiled; so do the instructions around it, a network before a mask for example.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlo/module.h"

namespace smelt::cpu {

struct RuntimeSizeRegion {
  absl::flat_hash_set<const hlo::Instruction*> members;
  absl::flat_hash_set<const hlo::Instruction*> before;  // what has to be computed first, members left out
  std::vector<const hlo::Instruction*> inputs;          // no members; members read them
  std::vector<const hlo::Instruction*> outputs;         // members that others read, or the root
  std::string why;                                      // for a person
};

// Instructions with such arrays as operands or results, and what lies between them; nullopt where there are none.
std::optional<RuntimeSizeRegion> FindRuntimeSizeRegion(const hlo::Computation& computation);

// A module, otherwise a copy of the computation's owner, whose entry takes the inputs as its parameters and gives a
// tuple of the outputs.
std::unique_ptr<hlo::Module> ModuleOf(const RuntimeSizeRegion& region, const hlo::Computation& computation,
                                      const hlo::Module& owner);

// Why a module runs in one piece: where even what it is given, or what its shapes do not tell of, has such a size.
std::optional<std::string> WhyOnePiece(const hlo::Module& module);

}  // namespace smelt::cpu
