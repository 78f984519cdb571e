#include "hlo/passes/while_invariant_motion.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo/cost_analysis.h"
#include "hlo/passes/dead_code.h"
#include "hlo/passes/while_form.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

// Operations on numbers, in all, below which moving saves nothing that can be measured.
constexpr double kLeastWork = 4096;
// Operations for each byte of a result, from which on it is read faster than computed.
constexpr double kHeavyWork = 16;
// Results of at most this many bytes stay in a near cache.
constexpr double kSmall = 65536;
// Instructions behind one that are looked at to judge it.
constexpr size_t kLookedAt = 256;
// A logarithm or a root is as slow as so many additions.
constexpr double kTranscendental = 16;

// What can be computed before the loop.
bool CanMove(const Instruction& instruction, const SideEffects& effects) {
  if (effects.Has(instruction) || instruction.HasControlEdges()) {
    return false;
  }
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kWhile:
    case Opcode::kConditional:
    case Opcode::kCall:
    case Opcode::kCustomCall:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
    case Opcode::kOptimizationBarrier:
      return false;
    default:
      return true;
  }
}

// What a kernel does on its way, or what moves nothing.
bool IsFree(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBitcast:
    case Opcode::kBroadcast:
    case Opcode::kConstant:
    case Opcode::kGetTupleElement:
    case Opcode::kIota:
    case Opcode::kReshape:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose:
    case Opcode::kTuple:
      return true;
    default:
      return false;
  }
}

class Motion {
 public:
  Motion(Instruction& loop, const SideEffects& effects) : loop_(loop), effects_(effects), body_(*loop.called(0)) {}

  // Whether there is anything to move.
  bool Find() {
    state_ = LoopState(body_);
    const std::vector<Instruction*> order = body_.PostOrder();
    for (const Instruction* instruction : order) {
      if (IsInvariant(*instruction)) invariant_.insert(instruction);
    }
    if (invariant_.empty()) return false;
    // Users first: what only moved instructions use goes with them.
    absl::flat_hash_set<const Instruction*> stays;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      Instruction* instruction = *it;
      if (!invariant_.contains(instruction) || IsGiven(*instruction)) continue;
      const bool read_inside =
          instruction->IsRoot() ||
          std::any_of(instruction->users().begin(), instruction->users().end(),
                      [&](const Instruction* user) { return !invariant_.contains(user) || stays.contains(user); });
      if (!read_inside) continue;
      if (IsWorthMoving(*instruction)) {
        moved_.push_back(instruction);
      } else {
        stays.insert(instruction);
      }
    }
    std::reverse(moved_.begin(), moved_.end());
    return !moved_.empty();
  }

  // The loop must own its body and condition, and `moved_` be of this body.
  void Run() {
    Computation& outside = *loop_.parent();
    GraphBuilder build(loop_);
    Instruction* init = loop_.operand(0);
    const int64_t old_count = static_cast<int64_t>(loop_.shape().tuple_shapes.size());
    std::vector<Instruction*> elements;
    for (int64_t i = 0; i < old_count; ++i) elements.push_back(Initial(i, build));
    for (Instruction* instruction : moved_) elements.push_back(CopyOutside(instruction, build));
    Shape shape = loop_.shape();
    for (const Instruction* instruction : moved_) shape.tuple_shapes.push_back(instruction->shape());
    Instruction* fresh_init = build.Tuple(std::move(elements));
    fresh_init->shape() = shape;

    Instruction* fresh_state = Widen(body_, shape);
    Widen(*loop_.called(1), shape);
    GraphBuilder inside(body_);
    std::vector<Instruction*> next(body_.root()->operands().begin(), body_.root()->operands().end());
    for (size_t m = 0; m < moved_.size(); ++m) {
      Instruction* element = inside.GetTupleElement(fresh_state, old_count + static_cast<int64_t>(m));
      element->shape() = moved_[m]->shape();
      std::replace(next.begin(), next.end(), moved_[m], element);
      moved_[m]->ReplaceAllUsesWith(element);
      next.push_back(element);
    }
    Instruction* root = inside.Tuple(std::move(next));
    root->shape() = shape;
    root->raw_attributes() = MetadataOf(*body_.root());
    body_.set_root(root);
    RemoveDeadInstructions(body_, effects_);

    Instruction* fresh = outside.Add(Opcode::kWhile, shape, {fresh_init}, loop_.all_attributes(), loop_.name(),
                                     {&body_, loop_.called(1)});
    // What a backend noted about elements of the tuple by number still holds: the new ones come last.
    fresh->raw_attributes() = loop_.raw_attributes();
    ReplaceLoop(fresh, build);
    outside.Remove(&loop_);
    RemoveIfDead(init);
  }

 private:
  // Elements that the loop hands on, and constants: known outside without computing anything.
  bool IsGiven(const Instruction& instruction) const {
    return instruction.opcode() == Opcode::kConstant ||
           (instruction.opcode() == Opcode::kGetTupleElement && instruction.operand(0) == state_);
  }

  bool IsInvariant(const Instruction& instruction) const {
    if (instruction.opcode() == Opcode::kGetTupleElement && instruction.operand(0) == state_)
      return IsInvariantElement(loop_, ElementIndex(instruction));
    return CanMove(instruction, effects_) &&
           std::all_of(instruction.operands().begin(), instruction.operands().end(),
                       [&](const Instruction* operand) { return invariant_.contains(operand); });
  }

  bool IsWorthMoving(const Instruction& instruction) const {
    if (IsFree(instruction.opcode()) || !instruction.shape().IsArray()) return false;
    double work = 0;
    double read = 0;
    std::vector<const Instruction*> open{&instruction};
    absl::flat_hash_set<const Instruction*> seen{&instruction};
    while (!open.empty() && seen.size() < kLookedAt) {
      const Instruction* current = open.back();
      open.pop_back();
      if (IsGiven(*current)) {
        read += static_cast<double>(current->shape().ByteSize());
        continue;
      }
      const CostAnalysis cost = AnalyzeCost(*current);
      work += cost.flops + kTranscendental * cost.transcendentals;
      if (current->opcode() == Opcode::kConcatenate || current->opcode() == Opcode::kGather) work += cost.bytes() / 4;
      for (const Instruction* operand : current->operands()) {
        if (seen.insert(operand).second) open.push_back(operand);
      }
    }
    const double bytes = static_cast<double>(instruction.shape().ByteSize());
    return work >= kLeastWork && (bytes <= read || bytes <= kSmall || work >= kHeavyWork * bytes);
  }

  Instruction* Initial(int64_t index, GraphBuilder& build) {
    Instruction* init = loop_.operand(0);
    return init->opcode() == Opcode::kTuple ? init->operand(index) : build.GetTupleElement(init, index);
  }

  // The value of an invariant instruction, computed before the loop; operands first, without recursion.
  Instruction* CopyOutside(Instruction* wanted, GraphBuilder& build) {
    std::vector<Instruction*> open{wanted};
    while (!open.empty()) {
      Instruction* current = open.back();
      if (outside_.contains(current)) {
        open.pop_back();
        continue;
      }
      if (current->opcode() == Opcode::kGetTupleElement && current->operand(0) == state_) {
        outside_[current] = Initial(ElementIndex(*current), build);
        continue;
      }
      std::vector<Instruction*> operands;
      for (Instruction* operand : current->operands()) {
        const auto known = outside_.find(operand);
        if (known == outside_.end()) {
          open.push_back(operand);
        } else {
          operands.push_back(known->second);
        }
      }
      if (static_cast<int64_t>(operands.size()) < current->operand_count()) continue;
      outside_[current] = loop_.parent()->AddClone(*current, operands);
    }
    return outside_.at(wanted);
  }

  // A parameter of the new shape in place of the old one, which body or condition read by element.
  static Instruction* Widen(Computation& inside, const Shape& shape) {
    Instruction* old_state = LoopState(inside);
    Instruction* state = inside.Add(Opcode::kParameter, shape, {}, ParameterAttributes{0}, old_state->name());
    old_state->ReplaceAllUsesWith(state);
    inside.Remove(old_state);
    return state;
  }

  void ReplaceLoop(Instruction* fresh, GraphBuilder& build) {
    if (ReadsOnlyElements(loop_) && !loop_.IsRoot()) {
      loop_.ReplaceAllUsesWith(fresh);
      return;
    }
    std::vector<Instruction*> elements;
    for (size_t i = 0; i < loop_.shape().tuple_shapes.size(); ++i) {
      elements.push_back(build.GetTupleElement(fresh, static_cast<int64_t>(i)));
      elements.back()->shape() = loop_.shape().tuple_shapes[i];
    }
    Instruction* tuple = build.Tuple(std::move(elements));
    tuple->shape() = loop_.shape();
    loop_.ReplaceAllUsesWith(tuple);
  }

  Instruction& loop_;
  const SideEffects& effects_;
  Computation& body_;
  Instruction* state_ = nullptr;
  absl::flat_hash_set<const Instruction*> invariant_;
  std::vector<Instruction*> moved_;
  absl::flat_hash_map<const Instruction*, Instruction*> outside_;
};

}  // namespace

absl::StatusOr<bool> MoveLoopInvariants(Module& module) {
  const SideEffects effects(module);
  LoopBodies bodies(module);
  bool changed = false;
  for (Computation* computation : module.PostOrder()) {
    std::vector<Instruction*> loops;
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kWhile && !effects.Has(*instruction)) loops.push_back(instruction);
    }
    for (Instruction* loop : loops) {
      if (!HasPlainForm(*loop) || !Motion(*loop, effects).Find()) continue;
      bodies.MakeOwn(*loop);
      Motion motion(*loop, effects);
      if (!motion.Find()) continue;
      motion.Run();
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
