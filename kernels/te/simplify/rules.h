// The table of rewrite rules of minima, maxima and selections over indices; a fuzzer evaluates both sides of every one.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "kernels/te/expr.h"

namespace smelt::kernels::te {

// Wildcards of a rule: x, y, z match any index expression, c match any predicate, a and b match constants.
struct RewriteRule {
  const char* name;
  Expr from, to;
  bool (*when)(int64_t a, int64_t b);  // of the constants; null: always
};

struct RuleTable {
  Expr x, y, z, condition, a, b;
  std::vector<RewriteRule> rules;
};
const RuleTable& Rules();

// The node of this kind and operator over simplified operands, rewritten by the first rule that matches; null when none
// does.
Expr ApplyRules(ExprKind kind, uint8_t op, const std::vector<Expr>& operands);

}  // namespace smelt::kernels::te
