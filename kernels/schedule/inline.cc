// Replaces reads of inlined stages by their bodies.
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "kernels/schedule/state.h"
#include "kernels/te/intern.h"

namespace smelt::kernels::schedule {
namespace {

using te::Expr;
using te::ExprKind;
using te::ExprNode;

// One memo over the whole expression: a value that is read twice at the same indices stays one node, so diamonds of
// inlined stages do not grow into trees. The stack is explicit: chains of inlined stages may be long.
class Inliner {
 public:
  explicit Inliner(const State& state) : state_(state) {}

  Expr Run(const Expr& root) {
    stack_.push_back({root, Step::kEnter});
    while (!stack_.empty()) {
      Frame frame = std::move(stack_.back());
      stack_.pop_back();
      if (done_.contains(frame.node.get())) continue;
      switch (frame.step) {
        case Step::kEnter:
          Enter(frame.node);
          break;
        case Step::kChildrenDone:
          Rebuild(frame.node);
          break;
        case Step::kBodyDone:
          done_.emplace(frame.node.get(), Expr(done_.at(frame.body.get())));  // a copy: emplace may move the table
          break;
      }
    }
    return done_.at(root.get());
  }

 private:
  enum class Step : uint8_t { kEnter, kChildrenDone, kBodyDone };
  struct Frame {
    Expr node;
    Step step;
    Expr body;  // kBodyDone: what replaces the node
  };

  void Enter(const Expr& e) {
    if (e->operands.empty() && e->init.empty() && e->kind != ExprKind::kTensorRead) {
      done_.emplace(e.get(), e);
      return;
    }
    stack_.push_back({e, Step::kChildrenDone});
    for (const Expr& child : e->operands) stack_.push_back({child, Step::kEnter});
    for (const Expr& child : e->init) stack_.push_back({child, Step::kEnter});
  }

  void Rebuild(const Expr& e) {
    std::vector<Expr> operands, init;
    bool same = true;
    for (const Expr& child : e->operands) {
      operands.push_back(done_.at(child.get()));
      same &= operands.back().Same(child);
    }
    for (const Expr& child : e->init) {
      init.push_back(done_.at(child.get()));
      same &= init.back().Same(child);
    }
    if (e->kind == ExprKind::kTensorRead) {
      const int index = state_.IndexOf(e->tensor.get());
      Check(index >= 0, "read of a tensor that is no stage");
      const Stage& stage = state_.stages[index];
      if (stage.attach == Attach::kInline) {
        std::vector<std::pair<Expr, Expr>> replacements;
        for (size_t d = 0; d < operands.size(); ++d) replacements.emplace_back(stage.axes[d].var, operands[d]);
        Expr body = te::Substitute(stage.bodies[e->int_value], replacements);
        kept_.push_back(body);
        stack_.push_back({e, Step::kBodyDone, body});
        stack_.push_back({body, Step::kEnter});
        return;
      }
    }
    done_.emplace(e.get(), same ? e : te::Remake(*e, std::move(operands), Expr(), std::move(init)));
  }

  const State& state_;
  std::vector<Frame> stack_;
  std::vector<Expr> kept_;  // so that the memo's keys stay alive
  absl::flat_hash_map<const ExprNode*, Expr> done_;
};

}  // namespace

Expr ResolveInlined(const State& state, const Expr& e) { return Inliner(state).Run(e); }

void ResolveInlined(const State& state, Stage* stage) {
  Inliner inliner(state);
  for (Expr& body : stage->bodies) body = inliner.Run(body);
}

}  // namespace smelt::kernels::schedule
