// Walking and rebuilding statements. Nests are at most a few hundred levels deep, so these recurse; expressions are
// walked by te::Rewrite and te::Visit, which do not.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "kernels/ir/stmt.h"

namespace smelt::kernels::ir {

// The statement with every statement directly below it replaced; null removes it. Keeps the node when nothing changed.
Stmt MapChildren(const Stmt& stmt, const std::function<Stmt(const Stmt&)>& map);
// The statement with its own expressions (not those of statements below) replaced. An `if` whose condition becomes
// constant gives way to its branch, so replace below before replacing here.
Stmt MapExprs(const Stmt& stmt, const std::function<Expr(const Expr&)>& map);
// Replaces variables in all expressions of the statement and of those below it. Loops keep theirs.
Stmt Substitute(const Stmt& stmt, const std::vector<std::pair<Expr, Expr>>& replacements);
// Visits the statement and all statements below it, outer first.
void VisitStmts(const Stmt& stmt, const std::function<void(const StmtNode&)>& visit);
// Calls `visit` for each of a statement's own expressions, unset ones aside.
void ForEachExpr(const StmtNode& stmt, const std::function<void(const Expr&)>& visit);

}  // namespace smelt::kernels::ir
