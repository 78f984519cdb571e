#include "hlo/verifier/nesting.h"

#include <algorithm>

#include "base/str_cat.h"

namespace smelt::hlo {

void NestingCheck::Enter(const Computation& computation) {
  if (computation_ != nullptr && computation_ != &computation) done_[computation_] = extent_;
  computation_ = &computation;
  extent_ = {.depth = 0, .size = computation.instruction_count()};
}

std::optional<Problem> NestingCheck::CheckCalls(const Instruction& instruction) {
  for (const Computation* called : instruction.called()) {
    const auto found = done_.find(called);
    // Callees come first, unless they call back.
    if (found == done_.end()) {
      return Problem{computation_, &instruction,
                     StrCat("calls `", called->name(), "`, which calls `", computation_->name(),
                            "` again: recursion is not possible")};
    }
    extent_.depth = std::max(extent_.depth, found->second.depth + 1);
    if (extent_.depth > kMaxCallDepth) {
      return Problem{computation_, &instruction,
                     StrCat("computations may call each other ", kMaxCallDepth, " levels deep, and `", called->name(),
                            "` already does")};
    }
    if (instruction.opcode() != Opcode::kFusion) continue;
    extent_.size += found->second.size;
    if (extent_.size > kMaxFusionSize) {
      return Problem{computation_, &instruction,
                     StrCat("a computation may hold ", kMaxFusionSize,
                            " instructions, those of its fusions included; this one has more")};
    }
  }
  return std::nullopt;
}

std::optional<Problem> FindNestingProblem(const Module& module) {
  NestingCheck nesting;
  for (const Computation* computation : module.PostOrder()) {
    nesting.Enter(*computation);
    for (const Instruction* instruction : computation->Instructions()) {
      if (std::optional<Problem> problem = nesting.Check(*instruction)) return problem;
    }
  }
  return std::nullopt;
}

}  // namespace smelt::hlo
