// How deep computations may call each other, and how much a fusion may hold. What works on a module recurses into what
// is called, and writes out the fusions inside of a fusion: a small text must not make either endless.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "hlo/verifier/verifier.h"

namespace smelt::hlo {

inline constexpr int64_t kMaxCallDepth = 500;                // levels of called computations below the entry
inline constexpr int64_t kMaxFusionSize = int64_t{1} << 22;  // instructions, fusions inside of it written out

// Meets the computations of a module in its PostOrder(), and the instructions of each in any order.
class NestingCheck {
 public:
  // The same one again: from its first instruction.
  void Enter(const Computation& computation);
  // Looks at the computation entered last: whether this one calls itself, or nests deeper or holds more than that.
  std::optional<Problem> Check(const Instruction& instruction) {
    return instruction.called().empty() ? std::nullopt : CheckCalls(instruction);
  }

 private:
  struct Extent {
    int64_t depth = 0;  // levels of calls below
    int64_t size = 0;   // instructions, with those of fusions
  };

  std::optional<Problem> CheckCalls(const Instruction& instruction);

  absl::flat_hash_map<const Computation*, Extent> done_;
  const Computation* computation_ = nullptr;  // entered, not done
  Extent extent_;
};

// The first such instruction of a module. Linear.
std::optional<Problem> FindNestingProblem(const Module& module);

}  // namespace smelt::hlo
