#include "kernels/loop_features/loop_tree.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/pass.h"
#include "kernels/te/simplify/linear.h"
#include "kernels/te/simplify/simplifier.h"

namespace smelt::kernels::loop_features {
namespace {

using ir::StmtKind;
using ir::StmtNode;
using te::Expr;
using te::ExprKind;

Arithmetic ArithmeticOf(const std::vector<Expr>& roots) {
  Arithmetic arithmetic;
  absl::flat_hash_set<const te::ExprNode*> seen;
  // Indices of loads are not arithmetic on values: the walk stops at loads.
  std::vector<Expr> pending(roots.begin(), roots.end());
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!e || !seen.insert(e.get()).second || e->kind == ExprKind::kLoad) continue;
    pending.insert(pending.end(), e->operands.begin(), e->operands.end());
    const bool is_float = hlo::IsFloat(e->type.element);
    switch (e->kind) {
      case ExprKind::kBinary:
        if (e->type == te::kIndex) break;
        if (!is_float) {
          ++arithmetic.integers;
        } else if (e->binary() == te::BinaryOp::kMul) {
          ++arithmetic.multiplies;
        } else if (e->binary() == te::BinaryOp::kDiv || e->binary() == te::BinaryOp::kRem) {
          ++arithmetic.divisions;
        } else if (e->binary() == te::BinaryOp::kPower || e->binary() == te::BinaryOp::kAtan2) {
          ++arithmetic.calls;
        } else {
          ++arithmetic.adds;
        }
        break;
      case ExprKind::kUnary:
        ++(e->unary() <= te::UnaryOp::kRoundAfz ? arithmetic.adds : arithmetic.calls);
        break;
      case ExprKind::kCompare:
      case ExprKind::kSelect:
      case ExprKind::kIf:
      case ExprKind::kCast:
        ++arithmetic.adds;
        break;
      case ExprKind::kCall:
        ++arithmetic.calls;
        break;
      default:
        break;
    }
  }
  return arithmetic;
}

void Add(const Arithmetic& from, Arithmetic* to) {
  to->adds += from.adds;
  to->multiplies += from.multiplies;
  to->divisions += from.divisions;
  to->calls += from.calls;
  to->integers += from.integers;
}

class TreeBuilder {
 public:
  TreeBuilder(const ir::Function& function, bool fused) : function_(function), fused_(fused) {
    lower::BindRanges(function, &simplifier_);
  }

  LoopTree Run() {
    for (size_t p = 0; p < function_.phases.size(); ++p) {
      const ir::Phase& phase = function_.phases[p];
      phase_ = static_cast<int>(p);
      if (phase.var) Enter(phase.var, static_cast<double>(phase.extent), ir::ForKind::kParallel);
      Walk(phase.body);
      if (phase.var) Leave();
    }
    FindInside();
    return std::move(tree_);
  }

 private:
  void Enter(const Expr& var, double extent, ir::ForKind kind) {
    LoopNode loop;
    loop.parent = path_.empty() ? -1 : path_.back();
    loop.depth = static_cast<int>(path_.size());
    loop.phase = phase_;
    loop.extent = extent;
    loop.kind = kind;
    loop.outside = count_;
    path_.push_back(static_cast<int>(tree_.loops.size()));
    vars_.push_back(var);
    count_ *= extent;
    tree_.loops.push_back(loop);
  }
  void Leave() {
    count_ = tree_.loops[path_.back()].outside;
    path_.pop_back();
    vars_.pop_back();
  }

  void Walk(const ir::Stmt& stmt) {
    if (stmt == nullptr) return;
    switch (stmt->kind) {
      case StmtKind::kFor: {
        int64_t extent = 1;
        te::IsConstInt(stmt->extent, &extent);
        Enter(stmt->var, static_cast<double>(std::max<int64_t>(extent, 1)), stmt->for_kind);
        Walk(stmt->body());
        Leave();
        return;
      }
      case StmtKind::kIf: {
        if (!path_.empty()) ++tree_.loops[path_.back()].guards;
        const bool before = guarded_;
        guarded_ = true;
        Walk(stmt->then_case);
        Walk(stmt->else_case);
        guarded_ = before;
        return;
      }
      case StmtKind::kSeq:
        for (const ir::Stmt& child : stmt->stmts) Walk(child);
        return;
      case StmtKind::kAllocate:
        tree_.scratch.push_back(stmt->buffer);
        Walk(stmt->body());
        return;
      case StmtKind::kAttribute:
        Walk(stmt->body());
        return;
      case StmtKind::kStore:
      case StmtKind::kEvaluate:
        Statement(*stmt);
        return;
    }
  }

  void Statement(const StmtNode& stmt) {
    StatementNode statement;
    statement.loop = path_.empty() ? -1 : path_.back();
    statement.count = count_;
    statement.guarded = guarded_ || stmt.predicate;
    statement.arithmetic = ArithmeticOf({stmt.value});
    if (statement.loop >= 0) Add(statement.arithmetic, &tree_.loops[statement.loop].arithmetic);
    if (stmt.kind == StmtKind::kStore) {
      statement.accesses.push_back(tree_.accesses.size());
      Access(*stmt.buffer, stmt.indices, /*store=*/true, statement.guarded);
    }
    absl::flat_hash_set<const te::ExprNode*> seen;
    ir::ForEachExpr(stmt, [&](const Expr& root) {
      te::Visit(root, [&](const Expr& e) {
        if (e->kind != ExprKind::kLoad || !seen.insert(e.get()).second) return;
        statement.accesses.push_back(tree_.accesses.size());
        Access(*e->buffer, e->operands, /*store=*/false, statement.guarded || e->predicate);
      });
    });
    tree_.statements.push_back(std::move(statement));
  }

  // Constant steps of an index by loop variable; variables inside of quotients and the like count as moving it by an
  // unknown step.
  struct Step {
    double step = 0;
    bool known = true;
  };
  std::vector<Step> StepsOf(const Expr& index) const {
    std::vector<Step> steps(vars_.size());
    const auto at = [&](const Expr& var) {
      for (size_t i = 0; i < vars_.size(); ++i) {
        if (vars_[i].Same(var)) return static_cast<int>(i);
      }
      return -1;
    };
    const std::optional<te::LinearSum> sum = te::ToLinear(index);
    if (!sum) {
      te::Visit(index, [&](const Expr& e) {
        if (const int i = e->kind == ExprKind::kVar ? at(e) : -1; i >= 0) steps[i] = {1, false};
      });
      return steps;
    }
    for (const auto& [atom, coefficient] : sum->terms) {
      if (const int i = atom->kind == ExprKind::kVar ? at(atom) : -1; i >= 0) {
        steps[i].step += static_cast<double>(coefficient);
        continue;
      }
      te::Visit(atom, [&, factor = static_cast<double>(coefficient)](const Expr& e) {
        if (const int i = e->kind == ExprKind::kVar ? at(e) : -1; i >= 0) steps[i] = {factor, false};
      });
    }
    return steps;
  }

  Expr InStorage(const ir::BufferNode& buffer, const std::vector<Expr>& indices) {
    Expr index(0);
    for (size_t d = 0; d < indices.size(); ++d)
      index = index * Expr(d < buffer.shape.size() ? buffer.shape[d] : 1) + indices[d];
    return simplifier_.Simplify(index);
  }

  void Access(const ir::BufferNode& buffer, const std::vector<Expr>& indices, bool store, bool guarded) {
    AccessNode access{.buffer = &buffer,
                      .store = store,
                      .loop = path_.empty() ? -1 : path_.back(),
                      .count = count_,
                      .guarded = guarded};
    const size_t rank = indices.size();
    std::vector<std::vector<Step>> steps;
    for (const Expr& index : indices) steps.push_back(StepsOf(index));
    std::vector<double> row(rank, 1);  // elements by which a step of a dimension moves
    for (size_t d = rank; d-- > 1;) {
      row[d - 1] = row[d] * (d < buffer.shape.size() ? static_cast<double>(buffer.shape[d]) : 1);
    }
    // Where a fused loop's variable is taken apart for the dimensions, what each step moves by shows in the storage.
    const auto unknown = [](const Step& step) { return !step.known; };
    const bool apart = fused_ && rank > 1 && std::any_of(steps.begin(), steps.end(), [&](const std::vector<Step>& of) {
                         return std::any_of(of.begin(), of.end(), unknown);
                       });
    const std::vector<Step> in_storage = apart ? StepsOf(InStorage(buffer, indices)) : std::vector<Step>();
    std::vector<double> spans(rank, 1);
    double iterations = 1;
    for (size_t i = path_.size(); i-- > 0;) {
      const double extent = tree_.loops[path_[i]].extent;
      Touch touch{.loop = path_[i]};
      iterations *= extent;
      for (size_t d = 0; d < rank; ++d) {
        const Step& step = steps[d][i];
        if (step.step == 0) continue;
        touch.stride += step.step * row[d];
        touch.known = touch.known && step.known;
        const double shape = d < buffer.shape.size() ? static_cast<double>(buffer.shape[d]) : spans[d];
        // Where steps are unknown, each iteration may be somewhere else.
        spans[d] = std::min(shape, spans[d] + (step.known ? std::abs(step.step) : 1) * (extent - 1));
      }
      if (apart) {
        touch.stride = in_storage[i].step;
        touch.known = in_storage[i].known;
      }
      touch.touched = 1;
      for (double span : spans) touch.touched *= span;
      touch.touched = std::max(1.0, std::min(touch.touched, iterations));
      touch.reuse = iterations / touch.touched;
      access.at.push_back(touch);
    }
    tree_.accesses.push_back(std::move(access));
  }

  void FindInside() {
    for (size_t l = tree_.loops.size(); l-- > 0;) {
      LoopNode& loop = tree_.loops[l];
      loop.inside *= loop.extent;
      if (loop.parent >= 0) {
        LoopNode& parent = tree_.loops[loop.parent];
        parent.inside = std::max(parent.inside, loop.inside);
      }
    }
  }

  const ir::Function& function_;
  const bool fused_;
  te::Simplifier simplifier_;
  LoopTree tree_;
  std::vector<int> path_;
  std::vector<Expr> vars_;
  double count_ = 1;
  int phase_ = 0;
  bool guarded_ = false;
};

}  // namespace

LoopTree BuildLoopTree(const ir::Function& function, bool fused) { return TreeBuilder(function, fused).Run(); }

}  // namespace smelt::kernels::loop_features
