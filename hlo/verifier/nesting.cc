#include "hlo/verifier/nesting.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "hlo/str_cat.h"

namespace smelt::hlo {
namespace {

struct Extent {
  int64_t depth = 0;  // levels of calls below
  int64_t size = 0;   // instructions, with those of fusions
};

}  // namespace

std::optional<Problem> FindNestingProblem(absl::Span<Computation* const> callees_first) {
  absl::flat_hash_map<const Computation*, Extent> done;
  for (const Computation* computation : callees_first) {
    Extent extent;
    extent.size = computation->instruction_count();
    for (const Instruction* instruction : computation->Instructions()) {
      for (const Computation* called : instruction->called()) {
        const auto found = done.find(called);
        // Callees come first, unless they call back.
        if (found == done.end()) {
          return Problem{computation, instruction,
                         StrCat("calls `", called->name(), "`, which calls `", computation->name(),
                                "` again: recursion is not possible")};
        }
        extent.depth = std::max(extent.depth, found->second.depth + 1);
        if (extent.depth > kMaxCallDepth) {
          return Problem{computation, instruction,
                         StrCat("computations may call each other ", kMaxCallDepth, " levels deep, and `",
                                called->name(), "` already does")};
        }
        if (instruction->opcode() != Opcode::kFusion) continue;
        extent.size += found->second.size;
        if (extent.size > kMaxFusionSize) {
          return Problem{computation, instruction,
                         StrCat("a computation may hold ", kMaxFusionSize,
                                " instructions, those of its fusions included; this one has more")};
        }
      }
    }
    done[computation] = extent;
  }
  return std::nullopt;
}

}  // namespace smelt::hlo
