#include "targets/xla/loop_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "targets/xla/donation.h"

namespace smelt::xla {
namespace {

using fusion::Role;
using hlo::Computation;
using hlo::Instruction;
using hlo::Opcode;

// Beside the elementwise opcodes.
constexpr Opcode kLoopOpcodes[] = {
    Opcode::kIota,   Opcode::kBroadcast, Opcode::kReshape,     Opcode::kBitcast,      Opcode::kTranspose,
    Opcode::kSlice,  Opcode::kReverse,   Opcode::kPad,         Opcode::kDynamicSlice, Opcode::kDynamicUpdateSlice,
    Opcode::kGather, Opcode::kReduce,    Opcode::kConcatenate, Opcode::kReduceWindow, Opcode::kBitcastConvert,
    Opcode::kCopy,
};

// Alone they are no fusions for XLA: they move bytes, in place or in blocks, or nothing at all.
constexpr Opcode kAloneAsTheyAre[] = {Opcode::kBitcast, Opcode::kConcatenate, Opcode::kDynamicUpdateSlice};

template <size_t n>
bool Contains(const Opcode (&list)[n], Opcode opcode) {
  return std::find(std::begin(list), std::end(list), opcode) != std::end(list);
}

bool StaticArrays(const hlo::Shape& shape) {
  if (shape.IsTuple())
    return std::all_of(shape.tuple_shapes.begin(), shape.tuple_shapes.end(),
                       [](const hlo::Shape& s) { return s.IsArray() && StaticArrays(s); });
  return shape.IsArray() && !shape.IsDynamic() && shape.ElementCount() > 0;
}

bool SameLayout(const hlo::Shape& a, const hlo::Shape& b) {
  if (a.dimensions != b.dimensions) return false;
  if (a.HasDefaultLayout() && b.HasDefaultLayout()) return true;
  return a.layout && b.layout && a.layout->minor_to_major == b.layout->minor_to_major;
}

// The analysis of one module; callees before callers.
class Overwriting {
 public:
  absl::flat_hash_set<const Instruction*> Run(const hlo::Module& module) {
    for (const Computation* computation : module.ExecutedComputations()) {
      for (const Instruction* instruction : computation->PostOrder()) Visit(*instruction);
    }
    return std::move(overwritten_);
  }

 private:
  void Visit(const Instruction& instruction) {
    switch (instruction.opcode()) {
      case Opcode::kWhile:
        VisitWhile(instruction);
        break;
      case Opcode::kDynamicUpdateSlice:
      case Opcode::kScatter:
        Mark(*instruction.operand(0));
        break;
      case Opcode::kCall:
      case Opcode::kConditional:
        // What comes out may lie where something that goes in does: a loop's state that a branch replaces.
        for (const Computation* callee : instruction.called()) {
          for (const Instruction* parameter : callee->Parameters()) {
            if (parameter != nullptr) Mark(*parameter);
          }
        }
        for (const Instruction* operand : instruction.operands()) Mark(*operand);
        break;
      case Opcode::kCustomCall:
        if (IsHeldFusion(instruction)) break;
        [[fallthrough]];
      case Opcode::kAsyncStart:
        for (const Instruction* operand : instruction.operands()) Mark(*operand);
        break;
      default:
        break;
    }
  }

  void VisitWhile(const Instruction& loop) {
    const Computation& body = *loop.called(0);
    const Instruction* state = body.Parameters()[0];
    const Instruction& root = *body.root();
    const Instruction& initial = *loop.operand(0);
    if (!loop.shape().IsTuple() || root.opcode() != Opcode::kTuple || initial.opcode() != Opcode::kTuple) {
      Mark(*state);
      Mark(initial);
      return;
    }
    for (const Instruction* user : state->users()) {
      if (user->opcode() != Opcode::kGetTupleElement) {  // read as a whole
        Mark(*state);
        Mark(initial);
        return;
      }
    }
    for (int64_t i = 0; i < root.operand_count(); ++i) {
      const Instruction& next = *root.operand(i);
      if (IsElement(next, *state, i) && !Overwritten(*state, i)) continue;  // passed on as it is
      if (LateCopy(loop, i) == nullptr) {
        for (const Instruction* user : state->users()) {
          if (IsElement(*user, *state, i)) Mark(*user);
        }
      }
      Mark(*initial.operand(i));
    }
  }

  bool Overwritten(const Instruction& state, int64_t i) const {
    return std::any_of(state.users().begin(), state.users().end(), [&](const Instruction* user) {
      return IsElement(*user, state, i) && overwritten_.contains(user);
    });
  }

  static bool IsElement(const Instruction& value, const Instruction& tuple, int64_t i) {
    return value.opcode() == Opcode::kGetTupleElement && value.operand(0) == &tuple &&
           value.attributes<hlo::TupleIndexAttributes>().index == i;
  }

  // With everything that stands for the same buffer.
  void Mark(const Instruction& start) {
    std::vector<const Instruction*> stack = {&start};
    while (!stack.empty()) {
      const Instruction& value = *stack.back();
      stack.pop_back();
      if (!overwritten_.insert(&value).second) continue;
      if (value.opcode() == Opcode::kBitcast || value.opcode() == Opcode::kTuple ||
          value.opcode() == Opcode::kOptimizationBarrier) {
        stack.insert(stack.end(), value.operands().begin(), value.operands().end());
      }
      if (value.opcode() == Opcode::kGetTupleElement && value.operand(0)->opcode() == Opcode::kTuple)
        stack.push_back(value.operand(0)->operand(value.attributes<hlo::TupleIndexAttributes>().index));
      for (const Instruction* user : value.users()) {
        const Opcode opcode = user->opcode();
        if (opcode == Opcode::kBitcast || (opcode == Opcode::kGetTupleElement && value.opcode() != Opcode::kTuple) ||
            opcode == Opcode::kOptimizationBarrier) {
          stack.push_back(user);
        }
      }
    }
  }

  absl::flat_hash_set<const Instruction*> overwritten_;
};

// Operations for one element that XLA's own fusion repeats for every reader, however many: a bias, a scale by the root
// of a variance, a scalar that its code generator computes before the loop. What that costs is for measurements to say.
constexpr double kRepeatedWork = 32;

// Readers of what is written over later, copies that keep a value from that, and readers of donated parameters.
absl::flat_hash_set<const Instruction*> OrderedInstructions(const hlo::Module& module) {
  absl::flat_hash_set<const Instruction*> ordered = OrderedByDonation(module);
  const absl::flat_hash_set<const Instruction*> overwritten = OverwrittenValues(module);
  for (const Instruction* value : overwritten) ordered.insert(value->users().begin(), value->users().end());
  for (const Computation* computation : module.ExecutedComputations()) {
    for (const Instruction* instruction : computation->Instructions()) {
      if (KeepsValueFromOverwriting(*instruction)) ordered.insert(instruction);
    }
  }
  return ordered;
}

}  // namespace

bool IsHeldFusion(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCustomCall &&
         instruction.attributes<hlo::CustomCallAttributes>().target == kHeldFusion;
}

fusion::Rules LoopRules() {
  fusion::Rules rules;
  rules.name = kKind;
  rules.role = RoleInLoopFusion;
  rules.ordered = OrderedInstructions;
  rules.keeps_rows = false;
  rules.layouts_count = true;
  rules.max_scratch_bytes = 0;
  rules.max_reductions = 5;
  rules.reads_through_contraction_operands = false;
  rules.max_evaluations = 15;
  rules.repeated_work = kRepeatedWork;
  return rules;
}

Role RoleInLoopFusion(const Instruction& instruction) {
  const Opcode opcode = instruction.opcode();
  if (!hlo::IsElementwise(opcode) && !Contains(kLoopOpcodes, opcode)) return Role::kOpaque;
  // A copy that keeps a value must come when it does, whatever is computed for it.
  if (opcode == Opcode::kStochasticConvert || KeepsValueFromOverwriting(instruction)) return Role::kOpaque;
  if (!StaticArrays(instruction.shape())) return Role::kOpaque;
  for (const Instruction* operand : instruction.operands()) {
    if (!operand->shape().IsArray() || !StaticArrays(operand->shape())) return Role::kOpaque;
  }
  return opcode == Opcode::kReduce || opcode == Opcode::kReduceWindow ? Role::kReduction : Role::kInjective;
}

bool RunsAsLoopFusion(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kScatter) return true;  // with nothing beside it
  return RoleInLoopFusion(instruction) != Role::kOpaque && !Contains(kAloneAsTheyAre, instruction.opcode()) &&
         !KeepsValueFromOverwriting(instruction);
}

bool KeepsValueFromOverwriting(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCopy && SameLayout(instruction.shape(), instruction.operand(0)->shape());
}

std::vector<Instruction*> StateReaders(const Instruction& loop, int64_t i) {
  std::vector<Instruction*> readers, stack;
  for (Instruction* user : loop.called(0)->Parameters()[0]->users()) {
    if (user->opcode() != Opcode::kGetTupleElement || user->attributes<hlo::TupleIndexAttributes>().index == i)
      stack.push_back(user);
  }
  absl::flat_hash_set<const Instruction*> seen;
  while (!stack.empty()) {
    Instruction* value = stack.back();
    stack.pop_back();
    if (!seen.insert(value).second) continue;
    const Opcode opcode = value->opcode();
    const bool alias = opcode == Opcode::kBitcast || opcode == Opcode::kGetTupleElement ||
                       opcode == Opcode::kOptimizationBarrier || (opcode == Opcode::kTuple && !value->IsRoot());
    if (alias) {
      stack.insert(stack.end(), value->users().begin(), value->users().end());
    } else {
      readers.push_back(value);
    }
  }
  return readers;
}

const Instruction* LateCopy(const Instruction& loop, int64_t i) {
  const Computation& body = *loop.called(0);
  const Instruction& root = *body.root();
  if (root.opcode() != Opcode::kTuple || i >= root.operand_count()) return nullptr;
  const Instruction& copy = *root.operand(i);
  if (!KeepsValueFromOverwriting(copy) || copy.users().size() != 1) return nullptr;
  if (std::count(root.operands().begin(), root.operands().end(), &copy) != 1) return nullptr;
  for (const Instruction* reader : StateReaders(loop, i)) {
    const bool ends_body = reader == &root || (KeepsValueFromOverwriting(*reader) && reader->users().size() == 1 &&
                                               reader->users()[0] == &root);
    if (ends_body) return nullptr;
  }
  return &copy;
}

absl::flat_hash_set<const Instruction*> OverwrittenValues(const hlo::Module& module) {
  return Overwriting().Run(module);
}

}  // namespace smelt::xla
