#include "hlo/passes/while_simplifier.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlo/passes/dead_code.h"
#include "hlo/passes/inline_body.h"
#include "hlo/passes/while_form.h"
#include "hlo/passes/while_trip_count.h"
#include "hlo/rewrite/constants.h"
#include "hlo/rewrite/graph_builder.h"

namespace smelt::hlo {
namespace {

bool IsConstantOrItsBroadcast(const Instruction& x) {
  return x.opcode() == Opcode::kConstant ||
         (x.opcode() == Opcode::kBroadcast && x.operand(0)->opcode() == Opcode::kConstant);
}

// What is to become of each element of the state.
struct Plan {
  std::vector<bool> invariant;  // the body hands it on as it is
  std::vector<bool> sunk;       // a constant that moves inside
  std::vector<bool> kept;       // stays in the tuple
  bool changes_anything = false;
};

class LoopAnalysis {
 public:
  LoopAnalysis(const Instruction& loop, const SideEffects& effects) : loop_(loop), effects_(effects) {}

  Plan MakePlan() {
    const Instruction& root = *loop_.called(0)->root();
    const Instruction& init = *loop_.operand(0);
    const int64_t count = root.operand_count();
    plan_.invariant.resize(count);
    plan_.sunk.resize(count);
    plan_.kept.resize(count);
    for (int64_t i = 0; i < count; ++i) {
      plan_.invariant[i] = IsInvariantElement(loop_, i);
      plan_.sunk[i] =
          plan_.invariant[i] && init.opcode() == Opcode::kTuple && IsConstantOrItsBroadcast(*init.operand(i));
    }
    MarkNeeded();
    const bool by_element = ReadsOnlyElements(loop_) && !loop_.IsRoot();
    if (!by_element || std::find(plan_.kept.begin(), plan_.kept.end(), true) == plan_.kept.end()) {
      plan_.kept.assign(count, true);
    }
    plan_.changes_anything = std::find(plan_.kept.begin(), plan_.kept.end(), false) != plan_.kept.end();
    for (const Computation* inside : {loop_.called(0), loop_.called(1)}) {
      for (const Instruction* get : LoopState(*inside)->users()) {
        // A sunk element that only the root hands on is not read.
        const bool read =
            get->user_count() > 1 || (get->user_count() == 1 && get->users()[0] != &root) || get->IsRoot();
        plan_.changes_anything |= plan_.sunk[ElementIndex(*get)] && read;
      }
    }
    for (const Instruction* get : loop_.users()) {
      plan_.changes_anything |=
          by_element && plan_.invariant[ElementIndex(*get)] && get->user_count() + get->IsRoot() > 0;
    }
    return plan_;
  }

 private:
  // An element is needed if the condition reads it, something after the loop does, or a needed one is computed from it.
  void MarkNeeded() {
    const Computation& body = *loop_.called(0);
    for (const Instruction* get : LoopState(*loop_.called(1))->users()) Need(ElementIndex(*get));
    if (ReadsOnlyElements(loop_)) {
      for (const Instruction* get : loop_.users()) {
        if (!plan_.invariant[ElementIndex(*get)]) Need(ElementIndex(*get));
      }
    }
    for (const Instruction* instruction : body.Instructions()) {
      if (effects_.Has(*instruction)) Follow(instruction);
    }
    while (!open_.empty()) {
      const Instruction* instruction = open_.back();
      open_.pop_back();
      if (instruction->opcode() == Opcode::kGetTupleElement &&
          instruction->operand(0)->opcode() == Opcode::kParameter) {
        Need(ElementIndex(*instruction));
        continue;
      }
      for (const Instruction* operand : instruction->operands()) Follow(operand);
    }
  }

  void Need(int64_t index) {
    if (plan_.sunk[index] || plan_.kept[index]) return;
    plan_.kept[index] = true;
    Follow(loop_.called(0)->root()->operand(index));
  }

  void Follow(const Instruction* instruction) {
    if (seen_.insert(instruction).second) open_.push_back(instruction);
  }

  const Instruction& loop_;
  const SideEffects& effects_;
  Plan plan_;
  absl::flat_hash_set<const Instruction*> seen_;
  std::vector<const Instruction*> open_;
};

class LoopRewrite {
 public:
  LoopRewrite(Instruction& loop, const Plan& plan, const SideEffects& effects)
      : loop_(loop), plan_(plan), effects_(effects) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < plan.kept.size(); ++i) {
      new_index_.push_back(static_cast<int64_t>(shapes.size()));
      if (plan.kept[i]) shapes.push_back(loop.shape().tuple_shapes[i]);
    }
    shape_ = Shape::Tuple(std::move(shapes));
  }

  void Run(Computation* body, Computation* condition) {
    RewriteInside(*body, true);
    RewriteInside(*condition, false);
    Computation& computation = *loop_.parent();
    GraphBuilder build(loop_);
    std::vector<Instruction*> initial;
    for (size_t i = 0; i < plan_.kept.size(); ++i) {
      if (plan_.kept[i]) initial.push_back(Initial(static_cast<int64_t>(i), build));
    }
    Instruction* init = build.Tuple(std::move(initial));
    init->shape() = shape_;
    Instruction* fresh =
        computation.Add(Opcode::kWhile, shape_, {init}, loop_.all_attributes(), loop_.name(), {body, condition});
    // What a backend noted about elements of the tuple by number no longer holds.
    for (const RawAttribute& attribute : loop_.raw_attributes()) {
      if (attribute.name == "metadata" || attribute.name == "frontend_attributes") {
        fresh->raw_attributes().push_back(attribute);
      }
    }
    RewriteUsers(fresh, build);
    Instruction* old_init = loop_.operand(0);
    computation.Remove(&loop_);
    RemoveIfDead(old_init);
  }

 private:
  Instruction* Initial(int64_t index, GraphBuilder& build) {
    Instruction* init = loop_.operand(0);
    return init->opcode() == Opcode::kTuple ? init->operand(index) : build.GetTupleElement(init, index);
  }

  // Body and condition: a new parameter, constants in place of sunk elements, and a root with the kept elements.
  void RewriteInside(Computation& inside, bool is_body) {
    Instruction* old_state = LoopState(inside);
    Instruction* state = inside.Add(Opcode::kParameter, shape_, {}, ParameterAttributes{0}, old_state->name());
    const std::vector<Instruction*> gets(old_state->users().begin(), old_state->users().end());
    GraphBuilder build(inside);
    for (Instruction* get : gets) {
      const int64_t index = ElementIndex(*get);
      Instruction* element = nullptr;
      if (plan_.sunk[index]) {
        element = InLayoutOf(*get, CopyConstant(*loop_.operand(0)->operand(index), inside));
      } else if (plan_.kept[index]) {
        element = build.GetTupleElement(state, new_index_[index]);
        element->shape() = get->shape();
        element->raw_attributes() = get->raw_attributes();
      } else {
        continue;  // read only on the way to elements that go
      }
      get->ReplaceAllUsesWith(element);
    }
    if (is_body) {
      Instruction* old_root = inside.root();
      std::vector<Instruction*> elements;
      for (size_t i = 0; i < plan_.kept.size(); ++i) {
        if (!plan_.kept[i]) continue;
        // A sunk element that stays in the tuple is handed on as it was.
        elements.push_back(plan_.sunk[i] ? build.GetTupleElement(state, new_index_[i]) : old_root->operand(i));
      }
      Instruction* root = build.Tuple(std::move(elements));
      root->shape() = shape_;
      root->raw_attributes() = MetadataOf(*old_root);
      inside.set_root(root);
    }
    RemoveDeadInstructions(inside, effects_);
    inside.Remove(old_state);
  }

  // What stands for `get` now. A bitcast of it reads the order of its elements in memory, which another layout changes.
  static Instruction* InLayoutOf(const Instruction& get, Instruction* element) {
    if (CanReplace(get, *element)) return element;
    return element->parent()->Add(Opcode::kCopy, get.shape(), {element});
  }

  static Instruction* CopyConstant(const Instruction& constant, Computation& inside) {
    if (constant.opcode() == Opcode::kConstant) return inside.AddClone(constant, {});
    return inside.AddClone(constant, {inside.AddClone(*constant.operand(0), {})});
  }

  void RewriteUsers(Instruction* fresh, GraphBuilder& build) {
    if (!ReadsOnlyElements(loop_) || loop_.IsRoot()) {
      loop_.ReplaceAllUsesWith(fresh);
      return;
    }
    const std::vector<Instruction*> gets(loop_.users().begin(), loop_.users().end());
    for (Instruction* get : gets) {
      const int64_t index = ElementIndex(*get);
      Instruction* element = nullptr;
      if (plan_.invariant[index]) {
        element = Initial(index, build);
        if (!CanReplace(*get, *element)) element = nullptr;
      }
      if (element == nullptr && plan_.kept[index]) {
        element = build.GetTupleElement(fresh, new_index_[index]);
        element->shape() = get->shape();
      }
      if (element == nullptr) element = InLayoutOf(*get, Initial(index, build));
      get->ReplaceAllUsesWith(element);
      loop_.parent()->Remove(get);
    }
  }

  Instruction& loop_;
  const Plan& plan_;
  const SideEffects& effects_;
  Shape shape_;
  std::vector<int64_t> new_index_;
};

// A loop of known, small count is no loop.
bool Unroll(Instruction& loop, const SideEffects& effects, LoopBodies& bodies) {
  if (loop.HasControlEdges() || effects.Has(*loop.called(1))) {
    return false;
  }
  const std::optional<int64_t> count = TripCount(loop);
  if (!count || *count > 1) return false;
  Instruction* result = loop.operand(0);
  if (*count == 1) {
    result = InlineBody(*loop.called(0), {result}, *loop.parent());
    for (const Instruction* copied : loop.called(0)->Instructions()) {
      for (const Computation* called : copied->called()) bodies.AddCall(called);
    }
  }
  loop.ReplaceAllUsesWith(result);
  loop.parent()->Remove(&loop);
  return true;
}

}  // namespace

absl::StatusOr<bool> SimplifyWhileLoops(Module& module) {
  const std::vector<Computation*> computations = module.PostOrder();
  LoopBodies bodies(module);
  const SideEffects effects(module);
  bool changed = false;
  for (Computation* computation : computations) {
    std::vector<Instruction*> loops;
    for (Instruction* instruction : computation->PostOrder()) {
      if (instruction->opcode() == Opcode::kWhile && !effects.Has(*instruction)) loops.push_back(instruction);
    }
    for (Instruction* loop : loops) {
      if (Unroll(*loop, effects, bodies)) {
        changed = true;
        continue;
      }
      if (!HasPlainForm(*loop)) continue;
      const Plan plan = LoopAnalysis(*loop, effects).MakePlan();
      if (!plan.changes_anything) continue;
      bodies.MakeOwn(*loop);
      LoopRewrite(*loop, plan, effects).Run(loop->called(0), loop->called(1));
      changed = true;
    }
  }
  return changed;
}

}  // namespace smelt::hlo
