#include "hlo/evaluator/plan.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "hlo/evaluator/handlers.h"
#include "hlo/evaluator/other_roundings.h"

namespace smelt::hlo {
namespace {

// Instructions that the root needs or that have a side effect, as those of compiled programs, operands first: an infeed
// that nobody reads is one that cannot be run. get-tuple-elements follow their tuple at once: then the tuple dies
// early, its elements have one reference each, and a loop body can update them in place.
std::vector<const Instruction*> NeededInOrder(const Computation& computation) {
  absl::flat_hash_set<const Instruction*> needed = {computation.root()};
  const std::vector<Instruction*> order = computation.PostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if ((*it)->opcode() != Opcode::kParameter && (*it)->HasSideEffect()) needed.insert(*it);
    if (!needed.contains(*it)) continue;
    for (const Instruction* operand : (*it)->operands()) needed.insert(operand);
  }
  std::vector<const Instruction*> result;
  absl::flat_hash_set<const Instruction*> placed;
  std::vector<const Instruction*> pending;
  for (const Instruction* instruction : order) {
    pending.push_back(instruction);
    while (!pending.empty()) {
      const Instruction* next = pending.back();
      pending.pop_back();
      if (!needed.contains(next) || !placed.insert(next).second) continue;
      result.push_back(next);
      if (!next->shape().IsTuple()) continue;
      for (auto user = next->users().rbegin(); user != next->users().rend(); ++user) {
        if ((*user)->opcode() == Opcode::kGetTupleElement) pending.push_back(*user);
      }
    }
  }
  return result;
}

// What a step needs besides its instruction: loops of elementwise opcodes, programs of bodies that work on scalars.
absl::Status Prepare(Step* step) {
  const Instruction& instruction = *step->instruction;
  switch (instruction.opcode()) {
    case Opcode::kParameter:
      return absl::OkStatus();
    case Opcode::kConstant:
      if (instruction.attributes<ConstantAttributes>().literal == nullptr)
        return absl::InvalidArgumentError("a constant without a literal");
      // Shares the module's literal. It is not const there to be written: the plan's own reference keeps it from being
      // updated in place.
      step->constant = Value(std::const_pointer_cast<Literal>(instruction.attributes<ConstantAttributes>().literal));
      return absl::OkStatus();
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kMap:
      for (const Computation* computation : instruction.called())
        step->programs.push_back(ScalarProgram::Compile(*computation));
      break;
    default:
      if (instruction.opcode() == Opcode::kCopy && !instruction.shape().IsArray()) {
        step->handler =
            &EvaluatePassThrough;  // values are never changed behind a reference, so a copy of a tuple is the tuple
        return absl::OkStatus();
      }
      if (IsElementwise(instruction.opcode()) && instruction.opcode() != Opcode::kStochasticConvert) {
        SMELT_ASSIGN_OR_RETURN(step->kernel, FindElementwiseKernel(instruction));
      }
  }
  step->handler = FindHandler(instruction.opcode());
  step->rounds = MayRoundOtherwise(instruction);
  step->chooses = ChoosesBy(instruction) > 0;
  if (step->handler == nullptr)
    return absl::UnimplementedError(
        absl::StrCat("the evaluator does not run ", std::string(OpcodeName(instruction.opcode()))));
  return absl::OkStatus();
}

bool IsFixed(const Plan& plan, const Step& step) {
  const Instruction& instruction = *step.instruction;
  const Opcode opcode = instruction.opcode();
  if (opcode == Opcode::kConstant) return true;
  if (opcode == Opcode::kParameter || opcode == Opcode::kCustomCall || instruction.HasSideEffect()) return false;
  // Programs are pure; what else is called need not be.
  if (step.programs.size() != instruction.called().size()) return false;
  return std::all_of(step.programs.begin(), step.programs.end(), [](const auto& p) { return p != nullptr; }) &&
         std::all_of(step.operands.begin(), step.operands.end(), [&](int32_t s) { return plan.steps[s].fixed; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plan>> MakePlan(const Computation& computation) {
  auto plan = std::make_unique<Plan>();
  if (computation.root() == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(computation.name(), " has no root"));
  const std::vector<const Instruction*> order = NeededInOrder(computation);
  absl::flat_hash_map<const Instruction*, int32_t> steps;
  plan->steps.resize(order.size());
  for (size_t s = 0; s < order.size(); ++s) {
    const Instruction* instruction = order[s];
    steps[instruction] = static_cast<int32_t>(s);
    Step& step = plan->steps[s];
    step.instruction = instruction;
    if (absl::Status status = Prepare(&step); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("instruction `", instruction->name(), "`: ", status.message()));
    }
    for (const Instruction* operand : instruction->operands()) {
      auto it = steps.find(operand);
      if (it == steps.end())
        return absl::InvalidArgumentError(absl::StrCat("instruction `", instruction->name(), "` is part of a cycle"));
      step.operands.push_back(it->second);
    }
    step.last_use.assign(step.operands.size(), false);
    step.fixed = IsFixed(*plan, step);
    for (const int32_t operand : step.operands) plan->steps[operand].boundary |= !step.fixed;
    if (instruction->opcode() == Opcode::kParameter) {
      const size_t number = static_cast<size_t>(instruction->attributes<ParameterAttributes>().number);
      if (number >= plan->parameter_steps.size()) plan->parameter_steps.resize(number + 1, -1);
      plan->parameter_steps[number] = static_cast<int32_t>(s);
    }
  }
  plan->root = steps[computation.root()];
  plan->steps[plan->root].boundary = true;

  std::vector<bool> dead_after(plan->steps.size(), true);
  dead_after[plan->root] = false;
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    for (size_t i = step->operands.size(); i-- > 0;) {
      step->last_use[i] = dead_after[step->operands[i]];
      dead_after[step->operands[i]] = false;
    }
  }
  return plan;
}

}  // namespace smelt::hlo
