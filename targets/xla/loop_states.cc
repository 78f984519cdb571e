#include "targets/xla/loop_states.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "targets/xla/loop_rules.h"

namespace smelt::xla {
namespace {

using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Writes a result of its own that nothing else lies in.
bool WritesAfresh(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kFusion) {
    return instruction.shape().IsArray() && instruction.called(0)->root()->opcode() != Opcode::kDynamicUpdateSlice &&
           instruction.called(0)->root()->opcode() != Opcode::kScatter;
  }
  return RunsAsLoopFusion(instruction) && instruction.opcode() != Opcode::kScatter;
}

std::vector<Instruction*> Loops(const hlo::Module& module) {
  std::vector<Instruction*> loops;
  for (const Computation* computation : module.ExecutedComputations()) {
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kWhile && instruction->shape().IsTuple() &&
          instruction->called(0)->root()->opcode() == Opcode::kTuple) {
        loops.push_back(instruction);
      }
    }
  }
  return loops;
}

// Whether every use of the value inside a fusion, or by an elementwise instruction, is at the index of the result.
bool ReadAtOwnIndex(const Instruction& reader, const Instruction& value) {
  if (reader.shape().dimensions != value.shape().dimensions || value.opcode() != Opcode::kGetTupleElement) return false;
  if (reader.opcode() != Opcode::kFusion) return hlo::IsElementwise(reader.opcode());
  std::vector<const Instruction*> stack;
  for (int64_t p = 0; p < reader.operand_count(); ++p) {
    if (reader.operand(p) == &value) stack.push_back(reader.called(0)->Parameters()[p]);
  }
  absl::flat_hash_set<const Instruction*> seen;
  while (!stack.empty()) {
    const Instruction* inside = stack.back();
    stack.pop_back();
    if (!seen.insert(inside).second) continue;
    for (const Instruction* user : inside->users()) {
      if (!hlo::IsElementwise(user->opcode()) || user->shape().dimensions != value.shape().dimensions) return false;
      stack.push_back(user);
    }
  }
  return true;
}

absl::flat_hash_set<const Instruction*> Before(const Instruction& instruction) {
  absl::flat_hash_set<const Instruction*> before;
  std::vector<const Instruction*> stack = {&instruction};
  while (!stack.empty()) {
    const Instruction* at = stack.back();
    stack.pop_back();
    for (const auto& earlier : {at->operands(), at->control_predecessors()}) {
      for (const Instruction* i : earlier) {
        if (before.insert(i).second) stack.push_back(i);
      }
    }
  }
  return before;
}

// Whether the value may be written over element `i`, which it replaces, without a copy.
bool InPlace(const Instruction& loop, int64_t i, const Instruction& value) {
  if (!WritesAfresh(value)) return false;
  const absl::flat_hash_set<const Instruction*> before = Before(value);
  for (const Instruction* reader : StateReaders(loop, i)) {
    if (reader != &value) {
      if (!before.contains(reader)) return false;
      continue;
    }
    for (const Instruction* operand : value.operands()) {
      const bool from_state = operand->opcode() == Opcode::kGetTupleElement
                                  ? operand->operand(0) == loop.called(0)->Parameters()[0] &&
                                        operand->attributes<hlo::TupleIndexAttributes>().index == i
                                  : operand->opcode() == Opcode::kBitcast;
      if (from_state && !ReadAtOwnIndex(value, *operand)) return false;
    }
  }
  return true;
}

}  // namespace

void OverwriteLate(hlo::Module* module) {
  for (Instruction* loop : Loops(*module)) {
    Computation* body = loop->called(0);
    Instruction* root = body->root();
    for (int64_t i = 0; i < root->operand_count(); ++i) {
      Instruction* value = root->operand(i);
      // Scalars count iterations: nothing is gained by fusing what reads them.
      if (!value->shape().IsArray() || value->shape().IsScalar() || !WritesAfresh(*value) ||
          std::count(root->operands().begin(), root->operands().end(), value) != 1 ||
          !value->control_successors().empty())
        continue;
      Instruction* copy = body->Add(Opcode::kCopy, value->shape(), {value});
      root->ReplaceOperand(i, copy);
      if (LateCopy(*loop, i) != copy) {
        root->ReplaceOperand(i, value);
        body->Remove(copy);
      }
    }
  }
}

void SettleOverwriting(hlo::Module* module) {
  for (Instruction* loop : Loops(*module)) {
    Computation* body = loop->called(0);
    Instruction* root = body->root();
    for (int64_t i = 0; i < root->operand_count(); ++i) {
      if (LateCopy(*loop, i) == nullptr) continue;
      Instruction* copy = root->operand(i);
      Instruction* value = copy->operand(0);
      if (!copy->HasControlEdges() && InPlace(*loop, i, *value)) {
        root->ReplaceOperand(i, value);
        body->Remove(copy);
        continue;
      }
      for (Instruction* reader : StateReaders(*loop, i)) {
        if (reader != copy && reader->parent() == body) copy->AddControlPredecessor(reader);
      }
    }
  }
}

}  // namespace smelt::xla
