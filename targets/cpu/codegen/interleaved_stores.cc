#include "targets/cpu/codegen/interleaved_stores.h"

#include <cstdint>

#include "kernels/te/scalar.h"
#include "targets/cpu/codegen/index_sum.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::te::Expr;
using kernels::te::ExprKind;

// The most vectors that are shuffled into each other.
constexpr int64_t kMostVectors = 8;

// The elements from one lane to the next of a vector's store; 0 where it is none that may interleave.
int64_t StrideOf(const kernels::ir::Stmt& stmt) {
  if (stmt == nullptr || stmt->kind != kernels::ir::StmtKind::kStore || stmt->predicate) return 0;
  const Expr& index = stmt->indices[0];
  int64_t stride;
  if (index->kind != ExprKind::kRamp || index.type().lanes < 4 ||
      !kernels::te::IsConstInt(index->operands[1], &stride) || stride < 2 || stride > kMostVectors)
    return 0;
  return stride;
}

// Whether the value needs other elements of the buffer than those that it replaces, which an earlier store may have
// written: a running sum along a row does.
bool ReadsOthers(const kernels::ir::StmtNode& store) {
  bool others = false;
  kernels::te::Visit(store.value, [&](const Expr& e) {
    if (e->kind == ExprKind::kLoad && e->buffer == store.buffer) others |= !e->operands[0].Same(store.indices[0]);
  });
  return others;
}

}  // namespace

size_t InterleavedStores(absl::Span<const kernels::ir::Stmt> stmts) {
  const int64_t stride = stmts.empty() ? 0 : StrideOf(stmts[0]);
  if (stride == 0 || static_cast<int64_t>(stmts.size()) < stride || ReadsOthers(*stmts[0])) return 0;
  const IndexSum first = SumOf(stmts[0]->indices[0]->operands[0]);
  for (int64_t k = 1; k < stride; ++k) {
    const kernels::ir::Stmt& store = stmts[k];
    if (StrideOf(store) != stride || store->buffer != stmts[0]->buffer ||
        store->indices[0].type().lanes != stmts[0]->indices[0].type().lanes || ReadsOthers(*store))
      return 0;
    const IndexSum sum = SumOf(store->indices[0]->operands[0]);
    if (sum.terms != first.terms || sum.constant != first.constant + k) return 0;
  }
  return static_cast<size_t>(stride);
}

}  // namespace smelt::cpu::codegen
