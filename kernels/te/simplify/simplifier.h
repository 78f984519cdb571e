// Simplifies expressions under known ranges of their variables.
//
//   Simplifier simplifier;
//   simplifier.Bind(i, {0, 9});  simplifier.Bind(j, {0, 11});
//   simplifier.Simplify(FloorDiv(i * 12 + j, 12))      // i
//   simplifier.Prove(i * 12 + j < 120)                 // true
//
// Index arithmetic (s64) becomes a canonical linear sum over atoms; quotients and remainders by constants are split,
// cancelled and put together again; comparisons become `sum < constant` or `sum >= constant`; minima, maxima and
// selections are decided where bounds allow. Arithmetic on values of other types is left as it is. Index arithmetic is
// taken not to overflow; s64 values that were loaded have no bounds, so nothing that needs bounds is done to them.
//
// A variable has one range for the life of a Simplifier, so everything is remembered by node and each distinct node is
// simplified once. Not thread-safe.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "kernels/te/expr.h"
#include "kernels/te/simplify/interval.h"
#include "kernels/te/simplify/linear.h"

namespace smelt::kernels::te {

class Simplifier {
 public:
  // Before the variable is used in anything given to this object.
  void Bind(const Expr& var, Interval range);

  Expr Simplify(const Expr& e);
  // Values that an integer or pred expression can take; of a vector, over all lanes.
  Interval Bounds(const Expr& e);
  // Whether the condition holds for all values of the variables. False means unknown.
  bool Prove(const Expr& condition);
  // e = base + stride * var with base and stride free of var and stride constant; false when it is not so. `e` must be
  // simplified.
  bool SplitLinear(const Expr& e, const Expr& var, Expr* base, int64_t* stride);

 private:
  Expr SimplifyNode(const Expr& e, std::vector<Expr> operands, Expr predicate, std::vector<Expr> init);
  Expr SimplifyBinary(BinaryOp op, const Expr& a, const Expr& b);
  Expr SimplifyCompare(CompareOp op, const Expr& a, const Expr& b);
  Expr SimplifyMinMax(BinaryOp op, const Expr& a, const Expr& b);
  Expr SimplifyAnd(const Expr& a, const Expr& b);
  // All values of an index expression are values of the integer type (of 64 unsigned bits: not known).
  bool Fits(const Expr& index, PrimitiveType type);
  // The index arithmetic whose value a narrower integer is, where it is computed from positions alone and nothing
  // wraps; null otherwise. So a gather whose indices are sums of iotas reads where it would without them.
  Expr PositionOf(const Expr& narrow, int depth);
  Expr SimplifyMixed(BinaryOp op, const Expr& a, const Expr& b);  // vectors
  // simplify/division.cc
  Expr Divide(const Expr& x, int64_t divisor);
  Expr Modulo(const Expr& x, int64_t divisor);
  Expr SumOf(LinearSum sum);  // joins quotients and remainders, then FromLinear
  Expr DivideAsOne(const Expr& x, int64_t divisor);
  bool JoinOnce(LinearSum* sum);

  Interval BoundsOfNode(const Expr& e);
  Interval BoundsOf(const LinearSum& sum);

  struct Entry {
    Expr input;  // keeps the key alive
    Expr result;
  };
  absl::flat_hash_map<const ExprNode*, Entry> simplified_;
  absl::flat_hash_map<const ExprNode*, std::pair<Expr, Interval>> bounds_;
  absl::flat_hash_map<const ExprNode*, Interval> ranges_;
};

// Range of an integer type (u64 counts as unbounded).
Interval RangeOfType(PrimitiveType type);

}  // namespace smelt::kernels::te
