// What is known about an expression at its place: bounds of its value, whether 32 bits hold every step of its
// computation, and whether it reads memory that the kernel writes.
//
// Bounds follow from the loops around: vector index arithmetic that fits 32 bits needs half the registers, and division
// of what is never negative needs no correction.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "kernels/te/expr.h"

namespace smelt::kernels::te {
struct BufferNode;
}

namespace smelt::cpu::codegen {

// [low, high], or nothing known.
struct Interval {
  bool known = false;
  int64_t low = 0;
  int64_t high = 0;

  static Interval Of(int64_t low, int64_t high) { return {true, low, high}; }
  bool NonNegative() const { return known && low >= 0; }
  bool Fits32() const { return known && low >= INT32_MIN && high <= INT32_MAX; }
};

struct Facts {
  Interval range;              // of integers
  bool narrow = false;         // the value and every operand of its index arithmetic fit 32 bits
  bool reads_written = false;  // loads from a buffer in the written set
};

class ExprFacts {
 public:
  explicit ExprFacts(const absl::flat_hash_set<const kernels::te::BufferNode*>& written) : written_(written) {}

  // The interval of a loop variable, from here on. One variable may be bound again (peeled loops share theirs).
  void Bind(const kernels::te::Expr& var, Interval interval);
  const Facts& Of(const kernels::te::ExprNode* node);  // valid until the next call

 private:
  Facts Compute(const kernels::te::ExprNode& node) const;
  const Facts& Known(const kernels::te::Expr& e) const { return facts_.at(e.get()); }

  const absl::flat_hash_set<const kernels::te::BufferNode*>& written_;
  absl::flat_hash_map<const kernels::te::ExprNode*, Interval> variables_;
  absl::flat_hash_map<const kernels::te::ExprNode*, Facts> facts_;
};

}  // namespace smelt::cpu::codegen
