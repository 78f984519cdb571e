#include "hlo/passes/while_form.h"

#include <algorithm>

namespace smelt::hlo {
namespace {

bool HasControlDependencies(const Computation& computation) {
  const std::vector<Instruction*> instructions = computation.Instructions();
  return std::any_of(instructions.begin(), instructions.end(),
                     [](const Instruction* instruction) { return !instruction->control_predecessors().empty(); });
}

}  // namespace

Instruction* LoopState(const Computation& computation) {
  const std::vector<Instruction*> parameters = computation.Parameters();
  return parameters.size() == 1 ? parameters[0] : nullptr;
}

bool ReadsOnlyElements(const Instruction& tuple) {
  return std::all_of(tuple.users().begin(), tuple.users().end(),
                     [](const Instruction* user) { return user->opcode() == Opcode::kGetTupleElement; });
}

bool HasPlainForm(const Instruction& loop) {
  const Instruction* in_body = LoopState(*loop.called(0));
  const Instruction* in_condition = LoopState(*loop.called(1));
  return loop.called(0) != loop.called(1) && in_body != nullptr && in_condition != nullptr && loop.shape().IsTuple() &&
         loop.called(0)->root()->opcode() == Opcode::kTuple && ReadsOnlyElements(*in_body) &&
         ReadsOnlyElements(*in_condition) && !loop.HasControlEdges() && !HasControlDependencies(*loop.called(0)) &&
         !HasControlDependencies(*loop.called(1)) && !in_body->IsRoot() && !in_condition->IsRoot();
}

int64_t ElementIndex(const Instruction& get) { return get.attributes<TupleIndexAttributes>().index; }

bool IsInvariantElement(const Instruction& loop, int64_t index) {
  const Instruction& next = *loop.called(0)->root()->operand(index);
  return next.opcode() == Opcode::kGetTupleElement && next.operand(0)->opcode() == Opcode::kParameter &&
         ElementIndex(next) == index;
}

LoopBodies::LoopBodies(Module& module) : module_(module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* instruction : computation->Instructions()) {
      for (const Computation* called : instruction->called()) ++calls_[called];
    }
  }
}

void LoopBodies::MakeOwn(Instruction& loop) {
  Computation* body = Own(loop.called(0));
  Computation* condition = Own(loop.called(1));
  loop.set_called({body, condition});
}

Computation* LoopBodies::Own(Computation* computation) {
  if (calls_[computation] <= 1) return computation;
  --calls_[computation];
  Computation* copy = module_.CloneComputation(*computation);
  calls_[copy] = 1;
  return copy;
}

}  // namespace smelt::hlo
