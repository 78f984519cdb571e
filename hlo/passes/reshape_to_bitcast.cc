#include "hlo/passes/reshape_to_bitcast.h"

#include "hlo/passes/row_major.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool MayChange(const Instruction& x) {
  return x.opcode() == Opcode::kReshape && IsRowMajor(x.shape()) && IsRowMajor(x.operand(0)->shape()) &&
         x.shape().element_type == x.operand(0)->shape().element_type && !x.shape().IsDynamic() &&
         !x.operand(0)->shape().IsDynamic() && !x.HasControlEdges();
}

}  // namespace

absl::StatusOr<bool> ReshapesToBitcasts(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* instruction : computation->Instructions()) {
      if (!MayChange(*instruction)) continue;
      GraphBuilder build(*instruction);
      Instruction* written = build.Add(Opcode::kBitcast, instruction->shape(), {instruction->operand(0)});
      instruction->ReplaceAllUsesWith(written);
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
