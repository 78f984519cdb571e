#include "kernels/lower/virtual_threads.h"

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "kernels/ir/access.h"
#include "kernels/ir/mutate.h"
#include "kernels/lower/copies.h"

namespace smelt::kernels::lower {
namespace {

using ir::ForKind;
using ir::StmtKind;

constexpr int64_t kMostCopies = 16;  // of a statement

// The body of one loop over virtual threads.
class Interleaver {
 public:
  Interleaver(const ir::StmtNode& threads, int64_t count) : var_(threads.var), count_(count) {}

  absl::StatusOr<Stmt> Run(const Stmt& body) {
    absl::flat_hash_map<const ir::BufferNode*, ir::Buffer> private_buffers;
    absl::Status status;
    ir::VisitStmts(body, [&](const ir::StmtNode& node) {
      if (node.kind != StmtKind::kAllocate || private_buffers.contains(node.buffer.get())) return;
      absl::StatusOr<ir::Buffer> copies = CopiesOf(node.buffer, count_);
      status.Update(copies.status());
      if (copies.ok()) private_buffers.emplace(node.buffer.get(), *std::move(copies));
    });
    SMELT_RETURN_IF_ERROR(status);
    const auto find = [&](const ir::Buffer& buffer) {
      const auto it = private_buffers.find(buffer.get());
      return it == private_buffers.end() ? nullptr : it->second;
    };
    ir::AccessMapper mapper([&](const ir::Buffer& buffer, const std::vector<Expr>& indices) {
      ir::Access access{find(buffer), indices};
      if (access.buffer != nullptr) access.indices.insert(access.indices.begin(), var_);
      return access;
    });
    const Stmt mapped = mapper(body, [&](const ir::Buffer& buffer) {
      const ir::Buffer copies = find(buffer);
      return copies == nullptr ? buffer : copies;
    });
    return Visit(mapped);
  }

 private:
  bool Mentions(const Expr& e) const { return te::Mentions(e, var_); }

  Stmt Visit(const Stmt& stmt) {
    if (stmt == nullptr) return nullptr;
    switch (stmt->kind) {
      case StmtKind::kFor:
        if (stmt->for_kind == ForKind::kVectorized || Mentions(stmt->min) || Mentions(stmt->extent))
          return Copies(stmt);
        break;
      case StmtKind::kIf:
        if (Mentions(stmt->condition)) return Copies(stmt);
        break;
      case StmtKind::kStore:
      case StmtKind::kEvaluate:
        return Copies(stmt);
      case StmtKind::kAllocate:
      case StmtKind::kAttribute:
      case StmtKind::kSeq:
        break;
    }
    return ir::MapChildren(stmt, [&](const Stmt& child) { return Visit(child); });
  }

  // The statement for each thread.
  Stmt Copies(const Stmt& stmt) {
    if (count_ > kMostCopies) return ir::For(var_, Expr(0), Expr(count_), ForKind::kSerial, stmt);
    std::vector<Stmt> copies;
    for (int64_t thread = 0; thread < count_; ++thread) copies.push_back(ir::Substitute(stmt, {{var_, Expr(thread)}}));
    return ir::Seq(std::move(copies));
  }

  const Expr var_;
  const int64_t count_;
};

// Inner threads first: those around then take turns with all of theirs.
absl::StatusOr<Stmt> Interleave(const Stmt& stmt) {
  absl::Status status;
  const Stmt inner = ir::MapChildren(stmt, [&](const Stmt& child) -> Stmt {
    absl::StatusOr<Stmt> result = Interleave(child);
    status.Update(result.status());
    return result.ok() ? *std::move(result) : child;
  });
  SMELT_RETURN_IF_ERROR(status);
  int64_t count = 0;
  if (inner == nullptr || inner->kind != StmtKind::kFor || inner->for_kind != ForKind::kVirtualThread) return inner;
  if (!te::IsConstInt(inner->extent, &count) || count < 1)
    return absl::InternalError("virtual threads of unknown number");
  return Interleaver(*inner, count).Run(inner->body());
}

}  // namespace

absl::StatusOr<ir::Function> InterleaveVirtualThreads(ir::Function function, PassContext&) {
  for (ir::Phase& phase : function.phases) {
    SMELT_ASSIGN_OR_RETURN(phase.body, Interleave(phase.body));
  }
  return function;
}

}  // namespace smelt::kernels::lower
