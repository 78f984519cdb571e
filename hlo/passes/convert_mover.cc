#include "hlo/passes/convert_mover.h"

#include <algorithm>
#include <vector>

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool IsFree(const Instruction& x) { return x.shape().IsArray() && !x.shape().IsDynamic() && !x.HasControlEdges(); }

bool Rearranges(Opcode opcode) {
  return opcode == Opcode::kReshape || opcode == Opcode::kTranspose || opcode == Opcode::kReverse;
}

bool Widens(const Instruction& convert) {
  return convert.opcode() == Opcode::kConvert && IsFree(convert) &&
         BitWidth(convert.operand(0)->shape().element_type) < BitWidth(convert.shape().element_type);
}

bool Narrows(const Instruction& convert) {
  return convert.opcode() == Opcode::kConvert && IsFree(convert) &&
         BitWidth(convert.operand(0)->shape().element_type) > BitWidth(convert.shape().element_type);
}

// movement(convert(x), ...) -> convert(movement(x, ...)); returns the new movement, or nullptr where it stays.
Instruction* PostponeWidening(Instruction& movement) {
  const bool moves =
      Rearranges(movement.opcode()) || movement.opcode() == Opcode::kSlice || movement.opcode() == Opcode::kConcatenate;
  if (!moves || !IsFree(movement) || movement.operand_count() == 0) return nullptr;
  const PrimitiveType narrow = movement.operand(0)->operand_count() == 1
                                   ? movement.operand(0)->operand(0)->shape().element_type
                                   : movement.shape().element_type;
  std::vector<Instruction*> sources;
  for (Instruction* operand : movement.operands()) {
    if (!Widens(*operand) || operand->user_count() > 1) return nullptr;
    if (operand->operand(0)->shape().element_type != narrow) return nullptr;
    sources.push_back(operand->operand(0));
  }
  GraphBuilder build(movement);
  Instruction* moved = build.Add(movement.opcode(), Shape::Array(narrow, movement.shape().dimensions),
                                 std::move(sources), movement.all_attributes());
  Instruction* widened = build.Convert(moved, movement.shape().element_type);
  widened->shape().layout = movement.shape().layout;
  movement.ReplaceAllUsesWith(widened);
  RemoveIfDead(&movement);
  return moved;
}

// convert(movement(x)) -> movement(convert(x)); returns the new conversion, or nullptr where it stays.
Instruction* HastenNarrowing(Instruction& convert) {
  if (!Narrows(convert)) return nullptr;
  Instruction& movement = *convert.operand(0);
  if (!Rearranges(movement.opcode()) || !IsFree(movement) || movement.user_count() > 1) return nullptr;
  GraphBuilder build(convert);
  Instruction* narrowed = build.Convert(movement.operand(0), convert.shape().element_type);
  Instruction* moved =
      build.Add(movement.opcode(), Shape::Array(convert.shape().element_type, convert.shape().dimensions), {narrowed},
                movement.all_attributes());
  moved->shape().layout = convert.shape().layout;
  convert.ReplaceAllUsesWith(moved);
  RemoveIfDead(&convert);
  return narrowed;
}

}  // namespace

absl::StatusOr<bool> MoveConverts(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    // Forward for what waits, so that it passes a whole chain; backward for what comes early. Either walk removes only
    // instructions that it has already passed, or the one at hand.
    for (Instruction* movement : computation->PostOrder()) {
      while ((movement = PostponeWidening(*movement)) != nullptr) changed = true;
    }
    std::vector<Instruction*> narrowings;
    for (Instruction* instruction : computation->PostOrder()) {
      if (Narrows(*instruction)) narrowings.push_back(instruction);
    }
    for (Instruction* narrowing : narrowings) {
      while ((narrowing = HastenNarrowing(*narrowing)) != nullptr) changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
