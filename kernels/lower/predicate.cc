#include "kernels/lower/predicate.h"

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "kernels/ir/mutate.h"
#include "kernels/te/intern.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;
using te::ExprKind;
using te::ExprNode;

// Distinct (node, condition) pairs of one function: beyond it, nested conditionals share so much that the code would
// grow without bound.
constexpr size_t kMostNodes = 400000;

bool IsZero(const Expr& e) {
  // Not -0: a load gives +0.
  if (e->kind == ExprKind::kFloat) return e->float_value == 0 && !std::signbit(e->float_value);
  return e->kind == ExprKind::kInt && e->int_value == 0;
}

class Predicator {
 public:
  explicit Predicator(te::Simplifier& simplifier) : simplifier_(simplifier) {}

  absl::Status Run(ir::Function& function) {
    name_ = function.name;
    for (ir::Phase& phase : function.phases) {
      phase.body = Visit(phase.body, Expr());
      if (!status_.ok()) return status_;
    }
    return absl::OkStatus();
  }

 private:
  Stmt Visit(const Stmt& stmt, const Expr& mask) {
    if (stmt == nullptr || !status_.ok()) return nullptr;
    switch (stmt->kind) {
      case StmtKind::kStore: {
        const Expr own = stmt->predicate ? Push(stmt->predicate, mask) : Expr();
        const Expr where = Conjoin(mask, own);
        std::vector<Expr> indices;
        for (const Expr& index : stmt->indices) indices.push_back(Push(index, mask));
        return ir::Store(stmt->buffer, std::move(indices), Push(stmt->value, mask), where);
      }
      case StmtKind::kFor: {
        const bool vectorized = stmt->for_kind == ir::ForKind::kVectorized;
        if (vectorized) lanes_.push_back(stmt->var);
        Stmt result = ir::MapChildren(stmt, [&](const Stmt& child) { return Visit(child, mask); });
        if (result != nullptr) result = ir::MapExprs(result, [&](const Expr& e) { return Push(e, mask); });
        if (vectorized) lanes_.pop_back();
        return result;
      }
      case StmtKind::kIf: {
        const Expr condition = Push(stmt->condition, mask);
        if (!VariesByLane(condition))
          return ir::IfThen(condition, Visit(stmt->then_case, mask), Visit(stmt->else_case, mask));
        Stmt then_case = Visit(stmt->then_case, Conjoin(mask, condition));
        Stmt else_case = Visit(stmt->else_case, Conjoin(mask, Not(condition)));
        return ir::Seq({std::move(then_case), std::move(else_case)});
      }
      case StmtKind::kEvaluate: {
        // A call has no mask: it is made under the condition.
        const Stmt call = ir::MapExprs(stmt, [&](const Expr& e) { return Push(e, mask); });
        return mask ? ir::IfThen(mask, call) : call;
      }
      case StmtKind::kAttribute:
      case StmtKind::kAllocate:
      case StmtKind::kSeq:
        return ir::MapChildren(stmt, [&](const Stmt& child) { return Visit(child, mask); });
    }
    return stmt;
  }

  bool VariesByLane(const Expr& condition) {
    for (const Expr& lane : lanes_) {
      if (te::Mentions(condition, lane)) return true;
    }
    return false;
  }

  Expr Conjoin(const Expr& a, const Expr& b) {
    if (!a) return b;
    if (!b) return a;
    return simplifier_.Simplify(And(a, b));
  }

  // Whether a load or a kIf stands anywhere in the expression.
  bool Touches(const Expr& e) {
    if (auto it = touches_.find(e.get()); it != touches_.end()) return it->second;
    te::Visit(e, [&](const Expr& node) {
      if (touches_.contains(node.get())) return;
      bool touches = node->kind == ExprKind::kLoad || node->kind == ExprKind::kIf;
      for (const Expr& child : node->operands) touches |= touches_.at(child.get());
      touches_.emplace(node.get(), touches);
      kept_.push_back(node);
    });
    return touches_.at(e.get());
  }

  // The expression with kIf replaced, its loads performed only under `condition` (null: always).
  Expr Push(const Expr& root, const Expr& root_condition) {
    struct Frame {
      Expr e, condition;
      bool expanded = false;
      std::vector<Key> keys;  // of the operands, in order
    };
    if (!Touches(root)) return root;
    std::vector<Frame> stack;
    stack.push_back({root, root_condition});
    while (!stack.empty()) {
      Frame& top = stack.back();
      const Key key{top.e.get(), top.condition.get()};
      if (done_.contains(key)) {
        stack.pop_back();
        continue;
      }
      if (!Touches(top.e)) {
        done_.emplace(key, top.e);
        stack.pop_back();
        continue;
      }
      if (!top.expanded) {
        top.expanded = true;
        const Expr e = top.e, condition = top.condition;
        std::vector<std::pair<Expr, Expr>> children;
        if (e->kind == ExprKind::kIf) {
          // The condition itself first: its loads, too, happen only under ours.
          const Key condition_key{e->operands[0].get(), condition.get()};
          if (!done_.contains(condition_key)) {
            top.expanded = false;
            stack.push_back({e->operands[0], condition});
            continue;
          }
          const Expr chosen = done_.at(condition_key);
          const Expr then_condition = Conjoin(condition, chosen), else_condition = Conjoin(condition, Not(chosen));
          kept_.push_back(then_condition);
          kept_.push_back(else_condition);
          children = {{e->operands[0], condition}, {e->operands[1], then_condition}, {e->operands[2], else_condition}};
        } else {
          for (const Expr& child : e->operands) children.emplace_back(child, condition);
          if (e->predicate) children.emplace_back(e->predicate, condition);
        }
        for (const auto& [child, under] : children) top.keys.push_back({child.get(), under.get()});
        for (auto& [child, under] : children) {
          if (!done_.contains(Key{child.get(), under.get()})) stack.push_back({child, under});
        }
        continue;
      }
      if (done_.size() > kMostNodes) {
        status_ = absl::ResourceExhaustedError(absl::StrCat(
            "kernel `", name_,
            "`: its nested conditional reads share too much; compute some of the padded or concatenated stages at "
            "loops instead of inlining them all"));
        return te::Bool(true);
      }
      Frame frame = std::move(top);
      stack.pop_back();
      std::vector<Expr> operands;
      for (const Key& operand : frame.keys) operands.push_back(done_.at(operand));
      Expr predicate;
      if (frame.e->predicate) {
        predicate = std::move(operands.back());
        operands.pop_back();
      }
      Expr result;
      if (frame.e->kind == ExprKind::kIf) {
        // A masked load is 0 where its mask is false: no selection is needed for that.
        const ExprNode* under = frame.keys[1].second;
        const bool masked = operands[1]->kind == ExprKind::kLoad && operands[1]->predicate.get() == under;
        result = masked && IsZero(operands[2]) ? operands[1] : te::Select(operands[0], operands[1], operands[2]);
      } else if (frame.e->kind == ExprKind::kLoad) {
        result = MakeLoad(*frame.e, std::move(operands), Conjoin(frame.condition, predicate));
      } else {
        result = te::Remake(*frame.e, std::move(operands), Expr(), {});
      }
      kept_.push_back(frame.e);
      if (frame.condition) kept_.push_back(frame.condition);
      done_.emplace(key, std::move(result));
    }
    return done_.at(Key{root.get(), root_condition.get()});
  }

  // A load that cannot leave its buffer needs no predicate: what it reads is not used where the condition fails.
  Expr MakeLoad(const ExprNode& load, std::vector<Expr> indices, Expr predicate) {
    if (predicate) {
      const te::Interval range = simplifier_.Bounds(indices[0]);
      if (range.lo >= 0 && range.hi < load.buffer->ElementCount()) predicate = Expr();
    }
    return te::Load(load.buffer, std::move(indices), std::move(predicate));
  }

  using Key = std::pair<const ExprNode*, const ExprNode*>;

  te::Simplifier& simplifier_;
  std::string name_;         // of the function
  absl::Status status_;      // first error
  std::vector<Expr> lanes_;  // variables of the vectorised loops around
  absl::flat_hash_map<Key, Expr> done_;
  absl::flat_hash_map<const ExprNode*, bool> touches_;
  std::vector<Expr> kept_;  // keeps the keys alive
};

}  // namespace

absl::StatusOr<ir::Function> PredicateLoads(ir::Function function, PassContext& context) {
  if (absl::Status status = Predicator(context.simplifier).Run(function); !status.ok()) return status;
  return function;
}

}  // namespace smelt::kernels::lower
