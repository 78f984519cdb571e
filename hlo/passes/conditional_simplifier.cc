#include "hlo/passes/conditional_simplifier.h"

#include <algorithm>
#include <optional>

#include "hlo/passes/inline_body.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

std::optional<int64_t> KnownBranch(const Instruction& conditional) {
  const int64_t count = static_cast<int64_t>(conditional.called().size());
  if (count == 1) return 0;
  const Literal* selector = UniformLiteral(*conditional.operand(0));
  if (selector == nullptr) return std::nullopt;
  const int64_t value = selector->GetInteger(0);
  if (conditional.operand(0)->shape().element_type == PrimitiveType::kPred) return value != 0 ? 0 : 1;
  return value < 0 || value >= count ? count - 1 : value;
}

}  // namespace

absl::StatusOr<bool> SimplifyConditionals(Module& module) {
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* conditional : computation->Instructions()) {
      if (conditional->opcode() != Opcode::kConditional) continue;
      if (conditional->HasControlEdges()) continue;
      const std::optional<int64_t> branch = KnownBranch(*conditional);
      if (!branch || !CanReplace(*conditional, *conditional->called(*branch)->root())) continue;
      Instruction* result =
          InlineBody(*conditional->called(*branch), {conditional->operand(1 + *branch)}, *computation);
      conditional->ReplaceAllUsesWith(result);
      computation->Remove(conditional);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
