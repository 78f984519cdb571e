#include "kernels/ir/mutate.h"

#include "kernels/te/rewriter.h"

namespace smelt::kernels::ir {

Stmt MapChildren(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& map) {
  if (stmt == nullptr) return nullptr;
  switch (stmt->kind) {
    case StmtKind::kStore:
    case StmtKind::kEvaluate:
      return stmt;
    case StmtKind::kAttribute: {
      Stmt body = map(stmt->body());
      if (body == stmt->body()) return stmt;
      return Attribute(stmt->key, stmt->buffer, stmt->value, std::move(body));
    }
    case StmtKind::kFor: {
      Stmt body = map(stmt->body());
      if (body == stmt->body()) return stmt;
      return For(stmt->var, stmt->min, stmt->extent, stmt->for_kind, std::move(body));
    }
    case StmtKind::kAllocate: {
      Stmt body = map(stmt->body());
      if (body == stmt->body()) return stmt;
      return Allocate(stmt->buffer, std::move(body));
    }
    case StmtKind::kIf: {
      Stmt then_case = stmt->then_case != nullptr ? map(stmt->then_case) : nullptr;
      Stmt else_case = stmt->else_case != nullptr ? map(stmt->else_case) : nullptr;
      if (then_case == stmt->then_case && else_case == stmt->else_case) return stmt;
      return IfThen(stmt->condition, std::move(then_case), std::move(else_case));
    }
    case StmtKind::kSeq: {
      std::vector<Stmt> stmts;
      stmts.reserve(stmt->stmts.size());
      bool same = true;
      for (const Stmt& child : stmt->stmts) {
        stmts.push_back(map(child));
        same &= stmts.back() == child;
      }
      return same ? stmt : Seq(std::move(stmts));
    }
  }
  return stmt;
}

Stmt MapExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& map) {
  switch (stmt->kind) {
    case StmtKind::kFor: {
      Expr min = map(stmt->min), extent = map(stmt->extent);
      if (min.Same(stmt->min) && extent.Same(stmt->extent)) return stmt;
      return For(stmt->var, std::move(min), std::move(extent), stmt->for_kind, stmt->body());
    }
    case StmtKind::kStore: {
      std::vector<Expr> indices;
      bool same = true;
      for (const Expr& index : stmt->indices) {
        indices.push_back(map(index));
        same &= indices.back().Same(index);
      }
      Expr value = map(stmt->value);
      Expr predicate = stmt->predicate ? map(stmt->predicate) : Expr();
      if (same && value.Same(stmt->value) && predicate.Same(stmt->predicate)) return stmt;
      return Store(stmt->buffer, std::move(indices), std::move(value), std::move(predicate));
    }
    case StmtKind::kIf: {
      Expr condition = map(stmt->condition);
      if (condition.Same(stmt->condition)) return stmt;
      return IfThen(std::move(condition), stmt->then_case, stmt->else_case);
    }
    case StmtKind::kEvaluate: {
      Expr call = map(stmt->value);
      return call.Same(stmt->value) ? stmt : Evaluate(std::move(call));
    }
    case StmtKind::kAttribute: {
      Expr value = stmt->value ? map(stmt->value) : Expr();
      return value.Same(stmt->value) ? stmt : Attribute(stmt->key, stmt->buffer, std::move(value), stmt->body());
    }
    case StmtKind::kAllocate:
    case StmtKind::kSeq:
      return stmt;
  }
  return stmt;
}

namespace {

Stmt RewriteAll(const Stmt& stmt, te::Rewriter& rewriter) {
  // Below first: with a constant condition the statement itself gives way to one of its branches.
  const Stmt below = MapChildren(stmt, [&](const Stmt& child) { return RewriteAll(child, rewriter); });
  if (below == nullptr) return nullptr;
  return MapExprs(below, [&](const Expr& e) { return rewriter(e); });
}

}  // namespace

Stmt Substitute(const Stmt& stmt, const std::vector<std::pair<Expr, Expr>>& replacements) {
  if (stmt == nullptr || replacements.empty()) return stmt;
  te::Rewriter rewriter(replacements);
  return RewriteAll(stmt, rewriter);
}

void VisitStmts(const Stmt& stmt, const std::function<void(const StmtNode&)>& visit) {
  if (stmt == nullptr) return;
  visit(*stmt);
  if (stmt->then_case != nullptr) VisitStmts(stmt->then_case, visit);
  if (stmt->else_case != nullptr) VisitStmts(stmt->else_case, visit);
  for (const Stmt& child : stmt->stmts) VisitStmts(child, visit);
}

void ForEachExpr(const StmtNode& stmt, const std::function<void(const Expr&)>& visit) {
  for (const Expr* e : {&stmt.min, &stmt.extent, &stmt.value, &stmt.predicate, &stmt.condition}) {
    if (*e) visit(*e);
  }
  for (const Expr& index : stmt.indices) visit(index);
}

}  // namespace smelt::kernels::ir
