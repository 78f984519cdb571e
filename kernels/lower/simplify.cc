#include "kernels/lower/simplify.h"

#include "kernels/ir/mutate.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;

// A predicate that always holds goes; null when the store never happens.
Stmt SimplifyStore(te::Simplifier& simplifier, const Stmt& stmt) {
  const Expr predicate = simplifier.Simplify(stmt->predicate);
  if (predicate) {
    const Expr bare = predicate->kind == te::ExprKind::kSplat ? predicate->operands[0] : predicate;
    int64_t constant = 0;
    if (te::IsConstInt(bare, &constant)) {
      if (constant == 0) return nullptr;
      return SimplifyStore(simplifier, ir::Store(stmt->buffer, stmt->indices, stmt->value));
    }
  }
  return ir::MapExprs(stmt, [&](const Expr& e) { return simplifier.Simplify(e); });
}

}  // namespace

Stmt SimplifyStmt(te::Simplifier& simplifier, const Stmt& stmt) {
  if (stmt == nullptr) return nullptr;
  const auto below = [&](const Stmt& child) { return SimplifyStmt(simplifier, child); };
  switch (stmt->kind) {
    case StmtKind::kStore:
      return SimplifyStore(simplifier, stmt);
    case StmtKind::kFor: {
      int64_t extent = 0;
      const Expr simplified = simplifier.Simplify(stmt->extent);
      if (te::IsConstInt(simplified, &extent) && extent <= 0) return nullptr;
      // A variable that is bound to one value has become that value everywhere.
      const te::Interval range = simplifier.Bounds(stmt->var);
      if (extent == 1 && range.IsPoint()) return below(stmt->body());
      return ir::MapChildren(ir::MapExprs(stmt, [&](const Expr& e) { return simplifier.Simplify(e); }), below);
    }
    case StmtKind::kIf: {
      const Expr condition = simplifier.Simplify(stmt->condition);
      int64_t constant = 0;
      if (te::IsConstInt(condition, &constant)) return below(constant != 0 ? stmt->then_case : stmt->else_case);
      Stmt then_case = below(stmt->then_case), else_case = below(stmt->else_case);
      if (condition.Same(stmt->condition) && then_case == stmt->then_case && else_case == stmt->else_case) return stmt;
      return ir::IfThen(condition, std::move(then_case), std::move(else_case));
    }
    case StmtKind::kEvaluate:
    case StmtKind::kAttribute:
    case StmtKind::kAllocate:
    case StmtKind::kSeq:
      return ir::MapChildren(ir::MapExprs(stmt, [&](const Expr& e) { return simplifier.Simplify(e); }), below);
  }
  return stmt;
}

absl::StatusOr<ir::Function> SimplifyFunction(ir::Function function, PassContext& context) {
  for (ir::Phase& phase : function.phases) phase.body = SimplifyStmt(context.simplifier, phase.body);
  return function;
}

}  // namespace smelt::kernels::lower
