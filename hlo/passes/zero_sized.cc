#include "hlo/passes/zero_sized.h"

#include <algorithm>

#include "hlo/passes/side_effects.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool IsEmpty(const Instruction& x) {
  return x.shape().IsArray() && !x.shape().IsDynamic() && x.shape().ElementCount() == 0;
}

// What an array with elements is when the arrays that it reads have none.
Instruction* WithoutOperand(Instruction& x, GraphBuilder& build) {
  auto zeros = [&] { return build.BroadcastScalar(build.Scalar(x.shape().element_type, 0), x.shape()); };
  switch (x.opcode()) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
      return x.operand_count() == 2 ? build.BroadcastScalar(x.operand(1), x.shape()) : nullptr;
    case Opcode::kPad:
      return build.BroadcastScalar(x.operand(1), x.shape());
    case Opcode::kDot:
    case Opcode::kConvolution:
      return zeros();
    default:
      return nullptr;
  }
}

// An update or a scatter of nothing.
bool UpdatesNothing(const Instruction& x) {
  if (x.opcode() == Opcode::kDynamicUpdateSlice) return IsEmpty(*x.operand(1));
  return x.opcode() == Opcode::kScatter && x.operand_count() == 3 && IsEmpty(*x.operand(2));
}

Instruction* Simpler(Instruction& x, GraphBuilder& build) {
  if (!x.shape().IsArray() || x.shape().IsDynamic()) return nullptr;
  if (IsEmpty(x))
    return x.opcode() == Opcode::kConstant
               ? nullptr
               : build.Constant(Literal(Shape::Array(x.shape().element_type, x.shape().dimensions)));
  if (UpdatesNothing(x)) return x.operand(0);
  const bool reads_nothing =
      x.operand_count() > 0 &&
      (IsEmpty(*x.operand(0)) ||
       ((x.opcode() == Opcode::kDot || x.opcode() == Opcode::kConvolution) && IsEmpty(*x.operand(1))));
  return reads_nothing ? WithoutOperand(x, build) : nullptr;
}

}  // namespace

absl::StatusOr<bool> EliminateZeroSized(Module& module) {
  const SideEffects effects(module);
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kParameter || effects.Has(*instruction)) continue;
      GraphBuilder build(*instruction);
      Instruction* simpler = Simpler(*instruction, build);
      if (simpler == nullptr) continue;
      if (!build.added().empty()) simpler->shape().layout = instruction->shape().layout;
      if (!Replace(*instruction, simpler)) {
        for (auto it = build.added().rbegin(); it != build.added().rend(); ++it) computation->Remove(*it);
        continue;
      }
      computation->Remove(instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
