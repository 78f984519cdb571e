// Parameters whose values are known before a program runs, as weights are, and what follows from them.
//
//   MarkKnownParameters(module, {1, 2});
//   const KnownPart known(*module.entry());
//   known.Contains(instruction)         // whether it follows from parameters 1 and 2 and constants alone
//
// The mark is an attribute of the parameter, so that it travels with the module as text:
//   w = f32[64,64] parameter(1), frontend_attributes={smelt_known="true"}
// Values are not part of a module: whoever runs it gives them, as those of other parameters, and the same ones each
// time.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace smelt::hlo {

// Marks these parameters of the entry computation, and no others.
void MarkKnownParameters(Module& module, const std::set<int64_t>& numbers);
bool IsKnownParameter(const Instruction& instruction);
std::set<int64_t> KnownParameters(const Module& module);

// What `--constant` says: names or numbers of parameters, or all but some: {"all-but:x", "y"}. The number that makes a
// name unique may be left out where that names one: `x` for `x.1`. InvalidArgument: a word that is no parameter's, or
// nothing left.
absl::StatusOr<std::set<int64_t>> ReadKnownParameters(const Module& module, const std::vector<std::string>& words);

// The instructions of a computation that can be computed beforehand.
class KnownPart {
 public:
  // `computation` must outlive it, and stay as it is.
  explicit KnownPart(const Computation& computation);

  bool Contains(const Instruction& instruction) const { return known_.contains(&instruction); }
  // Whether some marked parameter or large constant leads to it: only that is worth the memory.
  bool HasRoot(const Instruction& instruction) const { return rooted_.contains(&instruction); }
  // Whether its value may be kept: it is not much larger than what it is computed from. Weights that are widened or
  // repeated are cheaper to read as they are.
  bool IsWorthKeeping(const Instruction& instruction) const;

 private:
  absl::flat_hash_set<const Instruction*> known_, rooted_;
};

}  // namespace smelt::hlo
