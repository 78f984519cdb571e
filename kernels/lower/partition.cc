#include "kernels/lower/partition.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/simplify.h"
#include "kernels/te/scalar.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;
using te::CompareOp;
using te::ExprKind;
using te::FloorDivide;
using te::Interval;

constexpr size_t kMostPieces = 9;          // of one loop
constexpr int64_t kGrowth = 24;            // times the size before, at most
constexpr int64_t kAlwaysAllowed = 20000;  // nodes
constexpr int64_t kShortLoop = 4;          // conditional loads in shorter loops stay predicated

struct Condition {
  Expr compare;
  bool guard = false;  // of a statement: worth more than a conditional load's
};

int64_t SizeOf(const Stmt& stmt) {
  // Statements only: what is shared inside expressions is shared by the pieces' code as well only in part, so count
  // each distinct node once a statement.
  int64_t size = 0;
  ir::VisitStmts(stmt, [&](const ir::StmtNode& node) {
    ++size;
    ir::ForEachExpr(node, [&](const Expr& e) { te::Visit(e, [&](const Expr&) { ++size; }); });
  });
  return size;
}

class Partitioner {
 public:
  explicit Partitioner(PassContext& context) : context_(context), simplifier_(context.simplifier) {}

  void Run(ir::Function& function) {
    int64_t size = 0;
    for (const ir::Phase& phase : function.phases) size += SizeOf(phase.body);
    budget_ = std::max(kAlwaysAllowed, size * kGrowth);
    for (ir::Phase& phase : function.phases) {
      phase.body = ir::DropAnnotations(phase.var ? CutPhase(phase) : Cut(phase.body), ir::kRareBranch);
    }
  }

 private:
  // The comparisons of indices below `stmt` that mention `var`.
  std::vector<Condition> ConditionsOn(const Stmt& stmt, const Expr& var) {
    std::vector<Condition> conditions;
    absl::flat_hash_set<const te::ExprNode*> seen;
    const auto add = [&](const Expr& condition, bool guard) {
      te::Visit(condition, [&](const Expr& e) {
        if (e->kind != ExprKind::kCompare || e->operands[0].type() != te::kIndex || e->compare() == CompareOp::kNe)
          return;
        if (!te::IsConstInt(e->operands[1]) || !te::Mentions(e->operands[0], var)) return;
        if (seen.insert(e.get()).second) conditions.push_back({e, guard});
      });
    };
    absl::flat_hash_set<const ir::StmtNode*> rare;
    ir::VisitStmts(stmt, [&](const ir::StmtNode& node) {
      if (ir::IsAnnotation(node, ir::kRareBranch)) rare.insert(node.body().get());
      if (node.kind == StmtKind::kIf && !rare.contains(&node)) add(node.condition, true);
    });
    ir::VisitStmts(stmt, [&](const ir::StmtNode& node) {
      ir::ForEachExpr(node, [&](const Expr& root) {
        te::Visit(root, [&](const Expr& e) {
          if (e->kind == ExprKind::kIf) add(e->operands[0], false);
        });
      });
    });
    return conditions;
  }

  // Values of var at which the condition starts or stops being surely true or surely false.
  void AddCuts(const Condition& condition, const Expr& var, std::vector<int64_t>* cuts) {
    const size_t before = cuts->size();
    AddCuts(condition, condition.compare->operands[0], var, cuts);
    if (cuts->size() > before) return;
    // A fused loop: the condition is on its outer part, which steps once in `inner` iterations.
    Expr outer;
    te::Visit(condition.compare->operands[0], [&](const Expr& e) {
      if (e->kind == ExprKind::kBinary && e->binary() == te::BinaryOp::kFloorDiv && e->operands[0].Same(var) &&
          te::IsConstInt(e->operands[1]))
        outer = e;
    });
    if (!outer) return;
    int64_t inner = 1;
    te::IsConstInt(outer->operands[1], &inner);
    const Expr step = te::Var(var->name);
    simplifier_.Bind(step, simplifier_.Bounds(outer));
    const Expr value = simplifier_.Simplify(te::Substitute(condition.compare->operands[0], {{outer, step}}));
    if (te::Mentions(value, var)) return;
    AddCuts(condition, value, step, cuts);
    for (size_t i = before; i < cuts->size(); ++i) (*cuts)[i] *= inner;
  }

  // The same with the condition's left side at hand.
  void AddCuts(const Condition& condition, const Expr& value, const Expr& var, std::vector<int64_t>* cuts) {
    Expr base;
    int64_t a = 0, c = 0;
    if (!simplifier_.SplitLinear(value, var, &base, &a) || a == 0) return;
    te::IsConstInt(condition.compare->operands[1], &c);
    const Interval rest = simplifier_.Bounds(simplifier_.Simplify(base));
    if (!rest.IsFinite()) return;
    // a*var + r < c: for the largest and the smallest r, var at which it flips. (>= flips at the same places.)
    const auto flip = [&](int64_t r, int64_t bound) {
      // a > 0: true for var <= floor((bound-r-1)/a). a < 0: true for var >= floor((r-bound)/-a) + 1.
      cuts->push_back(a > 0 ? FloorDivide(bound - r - 1, a) + 1 : FloorDivide(r - bound, -a) + 1);
    };
    switch (condition.compare->compare()) {
      case CompareOp::kLt:
      case CompareOp::kGe:
        flip(rest.lo, c);
        flip(rest.hi, c);
        break;
      case CompareOp::kEq:  // possible only where both x < c+1 and x >= c are
        flip(rest.lo, c + 1);
        flip(rest.hi, c);
        break;
      default:
        break;
    }
  }

  // Where to cut [lo, hi): sorted, strictly inside.
  std::vector<int64_t> Cuts(const Stmt& body, const Expr& var, int64_t lo, int64_t hi) {
    const int64_t extent = hi - lo;
    std::vector<int64_t> chosen;
    const auto merge = [&](std::vector<int64_t> more) {
      more.insert(more.end(), chosen.begin(), chosen.end());
      more.erase(std::remove_if(more.begin(), more.end(), [&](int64_t cut) { return cut <= lo || cut >= hi; }),
                 more.end());
      std::sort(more.begin(), more.end());
      more.erase(std::unique(more.begin(), more.end()), more.end());
      if (more.size() + 1 <= kMostPieces) chosen = std::move(more);
    };
    const std::vector<Condition> conditions = ConditionsOn(body, var);
    for (const bool guard : {true, false}) {
      if (!guard && extent < kShortLoop) break;
      for (const Condition& condition : conditions) {
        if (condition.guard != guard) continue;
        std::vector<int64_t> cuts;
        AddCuts(condition, var, &cuts);
        merge(std::move(cuts));
      }
    }
    return chosen;
  }

  // The body for var in [lo, hi), simplified, with its own variable, which `piece` receives.
  Stmt Piece(const Stmt& body, const Expr& var, int64_t lo, int64_t hi, Expr* piece) {
    *piece = te::Var(var->name);
    simplifier_.Bind(*piece, {lo, hi - 1});
    return SimplifyStmt(simplifier_, ir::Substitute(body, {{var, *piece}}));
  }

  bool Afford(const Stmt& body, size_t pieces) {
    const int64_t cost = SizeOf(body) * static_cast<int64_t>(pieces - 1);
    if (cost > budget_) return false;
    budget_ -= cost;
    return true;
  }

  Stmt Cut(const Stmt& stmt) {
    if (stmt == nullptr) return nullptr;
    int64_t lo = 0, extent = 0;
    if (stmt->kind != StmtKind::kFor || stmt->for_kind != ir::ForKind::kSerial || !te::IsConstInt(stmt->min, &lo) ||
        !te::IsConstInt(stmt->extent, &extent) || extent < 2)
      return ir::MapChildren(stmt, [&](const Stmt& child) { return Cut(child); });
    const int64_t hi = lo + extent;
    std::vector<int64_t> cuts = Cuts(stmt->body(), stmt->var, lo, hi);
    if (cuts.empty() || !Afford(stmt->body(), cuts.size() + 1))
      return ir::MapChildren(stmt, [&](const Stmt& child) { return Cut(child); });
    cuts.push_back(hi);
    std::vector<Stmt> pieces;
    for (const int64_t end : cuts) {
      Expr var;
      Stmt body = Cut(Piece(stmt->body(), stmt->var, lo, end, &var));
      // A single iteration has its value everywhere already.
      pieces.push_back(end - lo == 1 ? body : ir::For(var, Expr(lo), Expr(end - lo), ir::ForKind::kSerial, body));
      lo = end;
    }
    return ir::Seq(std::move(pieces));
  }

  // A parallel loop stays one; its body chooses the piece.
  Stmt CutPhase(ir::Phase& phase) {
    const std::vector<int64_t> cuts = Cuts(phase.body, phase.var, 0, phase.extent);
    if (cuts.empty() || !Afford(phase.body, cuts.size() + 1)) return Cut(phase.body);
    std::vector<int64_t> starts{0};
    starts.insert(starts.end(), cuts.begin(), cuts.end());
    Stmt chosen;
    for (size_t i = starts.size(); i-- > 0;) {
      const int64_t end = i + 1 < starts.size() ? starts[i + 1] : phase.extent;
      Expr var;
      Stmt body = Cut(Piece(phase.body, phase.var, starts[i], end, &var));
      context_.aliases.emplace_back(var, phase.var);
      if (i + 1 == starts.size()) {
        chosen = std::move(body);
      } else {
        chosen = ir::IfThen(phase.var < Expr(end), std::move(body), std::move(chosen));
      }
    }
    return chosen;
  }

  PassContext& context_;
  te::Simplifier& simplifier_;
  int64_t budget_ = 0;
};

}  // namespace

absl::StatusOr<ir::Function> PartitionLoops(ir::Function function, PassContext& context) {
  Partitioner(context).Run(function);
  return function;
}

}  // namespace smelt::kernels::lower
