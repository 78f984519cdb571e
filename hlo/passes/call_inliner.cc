#include "hlo/passes/call_inliner.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "hlo/passes/inline_body.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool MayInline(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCall || instruction.called().size() != 1) return false;
  if (instruction.HasControlEdges()) return false;
  if (!CanReplace(instruction, *instruction.called(0)->root())) return false;
  for (const RawAttribute& attribute : instruction.raw_attributes()) {
    if (attribute.name == "frontend_attributes" && absl::StrContains(attribute.value, "inlineable=\"false\"")) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> InlineCalls(Module& module) {
  const int64_t limit = std::max<int64_t>(1 << 17, 8 * module.instruction_count());
  int64_t size = module.instruction_count();
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* call : computation->Instructions()) {
      if (!MayInline(*call)) continue;
      const Computation& body = *call->called(0);
      if (size + body.instruction_count() > limit) continue;
      size += body.instruction_count();
      Instruction* result = InlineBody(body, call->operands(), *computation);
      call->ReplaceAllUsesWith(result);
      computation->Remove(call);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
