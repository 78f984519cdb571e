// Canonical linear sums: constant + sum of coefficient * atom, where an atom is anything that is not itself a sum (a
// variable, a quotient, a minimum, ...). Two index expressions that are equal as linear sums have equal canonical
// forms.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/te/expr.h"

namespace smelt::kernels::te {

struct LinearSum {
  std::vector<std::pair<Expr, int64_t>> terms;  // sorted by Precedes, distinct atoms, no zero coefficients
  int64_t constant = 0;

  bool IsConstant() const { return terms.empty(); }
};

// A total order of expressions that depends only on their structure and on the order in which variables were made: the
// same program gives the same order every time.
bool Precedes(const Expr& a, const Expr& b);

// Takes a sum apart. Nothing when a coefficient leaves 64 bits or the sum is longer than is useful to canonicalise.
std::optional<LinearSum> ToLinear(const Expr& e);
Expr FromLinear(const LinearSum& sum);

// a + factor * b.
std::optional<LinearSum> AddScaled(const LinearSum& a, const LinearSum& b, int64_t factor);

}  // namespace smelt::kernels::te
