// Rewriting many expressions by one rule, with one memo: what several of them share is rewritten once.
//
//   Rewriter rename([&](const Expr& e) { return e.Same(i) ? Expr(j) : Expr(); });
//   Expr a = rename(x), b = rename(y);
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernels/te/expr.h"

namespace smelt::kernels::te {

class Rewriter {
 public:
  // `leaf` returns a replacement, or a null Expr to keep the node and go on below it. Asked once for each distinct
  // node.
  explicit Rewriter(std::function<Expr(const Expr&)> leaf) : leaf_(std::move(leaf)) {}
  // Replaces variables.
  explicit Rewriter(const std::vector<std::pair<Expr, Expr>>& replacements);

  Expr operator()(const Expr& e);

 private:
  struct Frame {
    const Expr* node;  // kept alive by what it is an operand of
    bool expanded;
  };
  std::function<Expr(const Expr&)> leaf_;
  absl::flat_hash_map<const ExprNode*, Expr> done_;
  std::vector<Expr> roots_;  // keep the keys alive
  std::vector<Frame> stack_;
};

}  // namespace smelt::kernels::te
