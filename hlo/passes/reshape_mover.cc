#include "hlo/passes/reshape_mover.h"

#include <algorithm>
#include <vector>

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool Rearranges(const Instruction& x) { return x.opcode() == Opcode::kReshape || x.opcode() == Opcode::kTranspose; }

bool SameRearrangement(const Instruction& a, const Instruction& b) {
  return a.opcode() == b.opcode() && a.operand(0)->shape().SameDimensions(b.operand(0)->shape()) &&
         (a.opcode() == Opcode::kReshape ||
          a.attributes<DimensionsAttributes>() == b.attributes<DimensionsAttributes>());
}

bool IsScalarBroadcast(const Instruction& x) {
  return x.opcode() == Opcode::kBroadcast && x.operand(0)->shape().IsScalar();
}

bool HasPlainShape(const Instruction& x) { return x.shape().IsArray() && !x.shape().IsDynamic(); }

// The rearrangement that all operands share, if moving the operation in front of it pays.
Instruction* SharedRearrangement(const Instruction& x) {
  if (!IsElementwise(x.opcode()) || x.opcode() == Opcode::kStochasticConvert || !HasPlainShape(x)) return nullptr;
  if (x.HasControlEdges()) return nullptr;
  if (x.user_count() == 0 && !x.IsRoot()) return nullptr;
  Instruction* shared = nullptr;
  std::vector<const Instruction*> rearranged;
  for (Instruction* operand : x.operands()) {
    if (!HasPlainShape(*operand)) return nullptr;
    if (operand->shape().IsScalar() && !x.shape().IsScalar()) continue;
    if (IsScalarBroadcast(*operand)) continue;
    if (!Rearranges(*operand) || operand->user_count() > 1) return nullptr;
    if (shared != nullptr && !SameRearrangement(*shared, *operand)) return nullptr;
    shared = operand;
    if (std::find(rearranged.begin(), rearranged.end(), operand) == rearranged.end()) rearranged.push_back(operand);
  }
  if (shared == nullptr) return nullptr;
  if (rearranged.size() >= 2) return shared;
  const bool rearranged_again =
      !x.IsRoot() && std::all_of(x.users().begin(), x.users().end(),
                                 [&](const Instruction* user) { return user->opcode() == shared->opcode(); });
  return rearranged_again ? shared : nullptr;
}

}  // namespace

absl::StatusOr<bool> MoveReshapes(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* x : computation->PostOrder()) {
      Instruction* shared = SharedRearrangement(*x);
      if (shared == nullptr) continue;
      const std::vector<int64_t>& dimensions = shared->operand(0)->shape().dimensions;
      GraphBuilder build(*x);
      std::vector<Instruction*> operands;
      for (Instruction* operand : x->operands()) {
        if (operand->shape().IsScalar() && !x->shape().IsScalar()) {
          operands.push_back(operand);  // a bound of clamp, or a predicate; it may be a reshape too
        } else if (IsScalarBroadcast(*operand)) {
          operands.push_back(build.Broadcast(operand->operand(0), dimensions, {}));
        } else if (Rearranges(*operand)) {
          operands.push_back(operand->operand(0));
        } else {
          operands.push_back(operand);
        }
      }
      Instruction* moved = build.Add(x->opcode(), Shape::Array(x->shape().element_type, dimensions),
                                     std::move(operands), x->all_attributes());
      moved->raw_attributes() = x->raw_attributes();
      Instruction* rearranged =
          build.Add(shared->opcode(), Shape::Array(x->shape().element_type, x->shape().dimensions), {moved},
                    shared->all_attributes());
      rearranged->shape().layout = x->shape().layout;
      x->ReplaceAllUsesWith(rearranged);
      RemoveIfDead(x);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
