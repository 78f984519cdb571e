#include "targets/cpu/codegen/index_sum.h"

#include <algorithm>

#include "kernels/te/scalar.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::Expr;

// The most terms that are looked into.
constexpr size_t kMostTerms = 32;

}  // namespace

IndexSum SumOf(const Expr& index) {
  IndexSum sum;
  std::vector<Expr> open = {index};
  while (!open.empty()) {
    const Expr next = open.back();
    open.pop_back();
    int64_t value;
    if (kernels::te::IsConstInt(next, &value)) {
      sum.constant += value;
    } else if (next->kind == kernels::te::ExprKind::kBinary && next->binary() == kernels::te::BinaryOp::kAdd &&
               sum.terms.size() + open.size() < kMostTerms) {
      open.push_back(next->operands[0]);
      open.push_back(next->operands[1]);
    } else {
      sum.terms.push_back(next.get());
    }
  }
  std::sort(sum.terms.begin(), sum.terms.end());
  return sum;
}

}  // namespace smelt::cpu::codegen
