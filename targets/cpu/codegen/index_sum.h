// A scalar index as a sum: what tells whether two of them are a known distance apart.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/te/expr.h"

namespace smelt::cpu::codegen {

// Equal `terms`: the indices differ by their constants. Terms stand in an order of their own, by node.
struct IndexSum {
  std::vector<const kernels::te::ExprNode*> terms;
  int64_t constant = 0;
};

IndexSum SumOf(const kernels::te::Expr& index);

}  // namespace smelt::cpu::codegen
