// How deep computations may call each other, and how much a fusion may hold. What works on a module recurses into what
// is called, and writes out the fusions inside of a fusion: a small text must not make either endless.
#pragma once

#include <cstdint>
#include <optional>

#include "hlo/verifier/verifier.h"

namespace smelt::hlo {

inline constexpr int64_t kMaxCallDepth = 500;                // levels of called computations below the entry
inline constexpr int64_t kMaxFusionSize = int64_t{1} << 22;  // instructions, fusions inside of it written out

// The first instruction that calls itself, or nests deeper or holds more than that. The computations are all those of a
// module in its PostOrder(). Linear.
std::optional<Problem> FindNestingProblem(absl::Span<Computation* const> callees_first);

}  // namespace smelt::hlo
