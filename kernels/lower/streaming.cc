#include "kernels/lower/streaming.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "kernels/ir/annotation.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/lower.h"

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

int64_t BytesOf(const ir::StmtNode& store) {
  return hlo::StorageBytes(store.buffer->type) * store.indices[0].type().lanes;
}

class Marker {
 public:
  Marker(std::set<const ir::BufferNode*> streamed, int64_t least_bytes)
      : streamed_(std::move(streamed)), least_bytes_(least_bytes) {}

  Stmt Mark(const Stmt& stmt, bool within) const {
    if (stmt == nullptr) return nullptr;
    if (ir::IsAnnotation(*stmt, ir::kNontemporal)) return Mark(stmt->body(), true);
    if (stmt->kind == StmtKind::kStore && (within || IsOfStreamed(*stmt)) && Streams(*stmt))
      return ir::Annotate(ir::kStreamingStore, nullptr, Expr(), stmt);
    return ir::MapChildren(stmt, [&](const Stmt& child) { return Mark(child, within); });
  }

 private:
  bool IsOfStreamed(const ir::StmtNode& store) const {
    return streamed_.contains(store.buffer.get()) && BytesOf(store) >= least_bytes_;
  }

  const std::set<const ir::BufferNode*> streamed_;
  const int64_t least_bytes_;
};

// The results of these numbers that no expression of the function names.
std::set<const ir::BufferNode*> WrittenOnly(const ir::Function& function, const std::vector<int64_t>& results) {
  std::set<const ir::BufferNode*> written;
  for (const int64_t number : results)
    written.insert(function.arguments[static_cast<size_t>(function.input_count + number)].get());
  if (written.empty()) return written;
  for (const ir::Phase& phase : function.phases) {
    ir::VisitStmts(phase.body, [&](const ir::StmtNode& stmt) {
      ir::ForEachExpr(stmt, [&](const Expr& of_stmt) {
        te::Visit(of_stmt, [&](const Expr& e) {
          if (e->buffer != nullptr) written.erase(e->buffer.get());
        });
      });
    });
  }
  return written;
}

}  // namespace

absl::StatusOr<ir::Function> FindStreamingStores(ir::Function function, PassContext& context) {
  const int64_t least_bytes = std::min(context.options.vector_bytes, 64);
  const Marker marker(WrittenOnly(function, context.options.streamed), least_bytes);
  for (ir::Phase& phase : function.phases) phase.body = marker.Mark(phase.body, false);
  return function;
}

}  // namespace smelt::kernels::lower
