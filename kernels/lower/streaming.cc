#include "kernels/lower/streaming.h"

#include <algorithm>
#include <bit>

#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"

namespace smelt::kernels::lower {
namespace {

using ir::StmtKind;

// Whether the index is a multiple of `unit` whatever its variables are.
bool IsMultiple(const Expr& index, int64_t unit) {
  const auto sum = te::ToLinear(index);
  return sum && sum->constant % unit == 0 &&
         std::all_of(sum->terms.begin(), sum->terms.end(), [&](const auto& term) { return term.second % unit == 0; });
}

bool Streams(const ir::StmtNode& store) {
  if (store.buffer->scope.allocator != te::Allocator::kCaller || store.predicate) return false;
  const Expr& index = store.indices[0];
  int64_t stride = 0;
  if (index->kind != te::ExprKind::kRamp || !te::IsConstInt(index->operands[1], &stride) || stride != 1) return false;
  const int64_t element = hlo::StorageBytes(store.buffer->type);
  const auto bytes = static_cast<uint64_t>(element * index.type().lanes);
  if (!std::has_single_bit(bytes) || bytes < 16) return false;
  return IsMultiple(index->operands[0], static_cast<int64_t>(std::min<uint64_t>(bytes, 64)) / element);
}

Stmt Mark(const Stmt& stmt, bool within) {
  if (stmt == nullptr) return nullptr;
  if (ir::IsAnnotation(*stmt, ir::kNontemporal)) return Mark(stmt->body(), true);
  if (within && stmt->kind == StmtKind::kStore && Streams(*stmt))
    return ir::Annotate(ir::kStreamingStore, nullptr, Expr(), stmt);
  return ir::MapChildren(stmt, [&](const Stmt& child) { return Mark(child, within); });
}

}  // namespace

absl::StatusOr<ir::Function> FindStreamingStores(ir::Function function, PassContext&) {
  for (ir::Phase& phase : function.phases) phase.body = Mark(phase.body, false);
  return function;
}

}  // namespace smelt::kernels::lower
