#include "kernels/te/simplify/rules.h"

#include "absl/container/inlined_vector.h"

namespace smelt::kernels::te {
namespace {

bool FirstLess(int64_t a, int64_t b) { return a <= b; }
bool FirstGreater(int64_t a, int64_t b) { return a >= b; }

RuleTable* MakeTable() {
  auto* table = new RuleTable;
  const Expr x = table->x = Var("x");
  const Expr y = table->y = Var("y");
  const Expr z = table->z = Var("z");
  const Expr c = table->condition = Var("c", kBool);
  const Expr a = table->a = Var("a");
  const Expr b = table->b = Var("b");
  table->rules = {
      // Nested minima and maxima with constants.
      {"min-min-first", Min(Min(x, a), b), Min(x, a), FirstLess},
      {"min-min-second", Min(Min(x, a), b), Min(x, b), FirstGreater},
      {"max-max-first", Max(Max(x, a), b), Max(x, a), FirstGreater},
      {"max-max-second", Max(Max(x, a), b), Max(x, b), FirstLess},
      // A clamp that is empty from one side.
      {"min-max", Min(Max(x, a), b), b, FirstGreater},
      {"max-min", Max(Min(x, a), b), b, FirstLess},
      // Absorption.
      {"min-same-left", Min(Min(x, y), x), Min(x, y), nullptr},
      {"min-same-right", Min(Min(x, y), y), Min(x, y), nullptr},
      {"min-left-same", Min(x, Min(x, y)), Min(x, y), nullptr},
      {"min-right-same", Min(y, Min(x, y)), Min(x, y), nullptr},
      {"max-same-left", Max(Max(x, y), x), Max(x, y), nullptr},
      {"max-same-right", Max(Max(x, y), y), Max(x, y), nullptr},
      {"max-left-same", Max(x, Max(x, y)), Max(x, y), nullptr},
      {"max-right-same", Max(y, Max(x, y)), Max(x, y), nullptr},
      {"min-of-max-left", Min(Max(x, y), x), x, nullptr},
      {"min-of-max-right", Min(Max(x, y), y), y, nullptr},
      {"max-of-min-left", Max(Min(x, y), x), x, nullptr},
      {"max-of-min-right", Max(Min(x, y), y), y, nullptr},
      // Selections.
      {"select-not", Select(Not(c), x, y), Select(c, y, x), nullptr},
      {"select-same-then", Select(c, Select(c, x, y), z), Select(c, x, z), nullptr},
      {"select-same-else", Select(c, x, Select(c, y, z)), Select(c, x, z), nullptr},
      {"select-plus-then", Select(c, x + y, x), x + Select(c, y, Expr(0)), nullptr},
      {"if-same-then", If(c, If(c, x, y), z), If(c, x, z), nullptr},
      {"if-same-else", If(c, x, If(c, y, z)), If(c, x, z), nullptr},
  };
  return table;
}

using Matches = absl::InlinedVector<std::pair<Expr, Expr>, 4>;

bool Match(const RuleTable& table, const Expr& pattern, const Expr& e, Matches* matches) {
  if (pattern->kind == ExprKind::kVar) {
    if (pattern.type() != e.type()) return false;
    const bool constant = pattern.Same(table.a) || pattern.Same(table.b);
    if (constant && e->kind != ExprKind::kInt) return false;
    for (const auto& [var, value] : *matches) {
      if (var.Same(pattern)) return value.Same(e);
    }
    matches->emplace_back(pattern, e);
    return true;
  }
  if (pattern->kind == ExprKind::kInt) return pattern.Same(e);
  if (pattern->kind != e->kind || pattern->op != e->op || pattern.type() != e.type()) return false;
  for (size_t i = 0; i < pattern->operands.size(); ++i) {
    if (!Match(table, pattern->operands[i], e->operands[i], matches)) return false;
  }
  return true;
}

}  // namespace

const RuleTable& Rules() {
  static const RuleTable* table = MakeTable();
  return *table;
}

Expr ApplyRules(ExprKind kind, uint8_t op, const std::vector<Expr>& operands) {
  const RuleTable& table = Rules();
  for (const RewriteRule& rule : table.rules) {
    if (rule.from->kind != kind || rule.from->op != op) continue;
    Matches matches;
    bool matched = true;
    for (size_t i = 0; i < operands.size() && matched; ++i)
      matched = Match(table, rule.from->operands[i], operands[i], &matches);
    if (!matched) continue;
    if (rule.when != nullptr) {
      int64_t a = 0, b = 0;
      for (const auto& [var, value] : matches) {
        if (var.Same(table.a)) a = value->int_value;
        if (var.Same(table.b)) b = value->int_value;
      }
      if (!rule.when(a, b)) continue;
    }
    return Substitute(rule.to, std::vector<std::pair<Expr, Expr>>(matches.begin(), matches.end()));
  }
  return Expr();
}

}  // namespace smelt::kernels::te
