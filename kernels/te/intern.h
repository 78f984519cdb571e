// The table that makes equal expressions one node.
//
// It holds nodes weakly: a node leaves the table when the last Expr that refers to it goes. Sharded by hash, so threads
// that lower different kernels seldom meet. Destroying an expression never recurses: chains may be as deep as memory.
#pragma once

#include "kernels/te/expr.h"

namespace smelt::kernels::te {

// The node equal to `fields` (whose hash is computed here), made if there is none.
Expr Intern(ExprNode fields);

// A copy of `node` with other operands, predicate and initial values, through the folding factories.
Expr Remake(const ExprNode& node, std::vector<Expr> operands, Expr predicate, std::vector<Expr> init);

}  // namespace smelt::kernels::te
