#include "hlo/passes/tuple_simplifier.h"

#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

int64_t IndexOf(const Instruction& get) { return get.attributes<TupleIndexAttributes>().index; }

// The value that the tuple's elements were taken from, if it is that value again.
Instruction* SourceOfTuple(const Instruction& tuple) {
  Instruction* source = nullptr;
  for (int64_t i = 0; i < tuple.operand_count(); ++i) {
    const Instruction& element = *tuple.operand(i);
    if (element.opcode() != Opcode::kGetTupleElement || IndexOf(element) != i) return nullptr;
    if (source != nullptr && element.operand(0) != source) return nullptr;
    source = element.operand(0);
  }
  return source;
}

Instruction* Simpler(Instruction& instruction, bool is_entry_root) {
  if (instruction.opcode() == Opcode::kGetTupleElement && instruction.operand(0)->opcode() == Opcode::kTuple) {
    return instruction.operand(0)->operand(IndexOf(instruction));
  }
  if (instruction.opcode() == Opcode::kTuple && !is_entry_root) return SourceOfTuple(instruction);
  return nullptr;
}

}  // namespace

absl::StatusOr<bool> SimplifyTuples(Module& module) {
  bool changed = false;
  for (Computation* computation : module.Computations()) {
    for (Instruction* instruction : computation->PostOrder()) {
      const bool is_entry_root = instruction->IsRoot() && computation == module.entry();
      Instruction* simpler = Simpler(*instruction, is_entry_root);
      if (simpler != nullptr && Replace(*instruction, simpler)) {
        computation->Remove(instruction);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace smelt::hlo
