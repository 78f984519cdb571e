#include "hlo/passes/map_inliner.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool IsScalarWork(const Computation& function) {
  for (const Instruction* instruction : function.Instructions()) {
    const Opcode opcode = instruction->opcode();
    const bool known = IsElementwise(opcode) || opcode == Opcode::kConstant || opcode == Opcode::kParameter;
    if (!known || opcode == Opcode::kStochasticConvert || !instruction->shape().IsScalar()) return false;
    if (!instruction->control_predecessors().empty()) return false;
  }
  return true;
}

bool MayInline(const Instruction& map) {
  return map.opcode() == Opcode::kMap && map.called().size() == 1 && map.shape().IsArray() &&
         !map.shape().IsDynamic() && !map.HasControlEdges() && IsScalarWork(*map.called(0));
}

Instruction* Inline(Instruction& map) {
  GraphBuilder build(map);
  absl::flat_hash_map<const Instruction*, Instruction*> arrays;
  for (const Instruction* scalar : map.called(0)->PostOrder()) {
    if (scalar->opcode() == Opcode::kParameter) {
      arrays[scalar] = map.operand(scalar->attributes<ParameterAttributes>().number);
      continue;
    }
    std::vector<Instruction*> operands;
    for (const Instruction* operand : scalar->operands()) operands.push_back(arrays.at(operand));
    if (scalar->opcode() == Opcode::kConstant) {
      Instruction* constant = build.Add(Opcode::kConstant, scalar->shape(), {}, scalar->all_attributes());
      arrays[scalar] = build.BroadcastScalar(constant, map.shape());
      continue;
    }
    Instruction* array = build.Add(scalar->opcode(), Shape::Array(scalar->shape().element_type, map.shape().dimensions),
                                   std::move(operands), scalar->all_attributes());
    array->raw_attributes() = scalar->raw_attributes();
    arrays[scalar] = array;
  }
  return arrays.at(map.called(0)->root());
}

}  // namespace

absl::StatusOr<bool> InlineMaps(Module& module) {
  int64_t left = std::max<int64_t>(1 << 17, 8 * module.instruction_count());
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    for (Instruction* map : computation->Instructions()) {
      if (!MayInline(*map) || map->called(0)->instruction_count() > left) continue;
      left -= map->called(0)->instruction_count();
      Instruction* inlined = Inline(*map);
      if (!Replace(*map, inlined)) continue;
      computation->Remove(map);
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
