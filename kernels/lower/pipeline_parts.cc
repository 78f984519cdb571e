#include "kernels/lower/pipeline_parts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/ir/access.h"
#include "kernels/ir/annotation.h"
#include "kernels/te/intrinsic.h"

namespace smelt::kernels::lower {
namespace {

using ir::Stmt;
using ir::StmtKind;
using te::Expr;

void FindBuffers(PipelinePiece* piece) {
  ir::VisitStmts(piece->body, [&](const ir::StmtNode& node) {
    if (node.kind == StmtKind::kStore) piece->written.insert(node.buffer.get());
    ir::ForEachExpr(node, [&](const Expr& root) {
      te::Visit(root, [&](const Expr& e) {
        if (e->kind == te::ExprKind::kLoad || e->kind == te::ExprKind::kAddress) piece->touched.insert(e->buffer.get());
        if (e->kind != te::ExprKind::kCall) return;
        for (size_t i = 0; i < e->operands.size(); ++i) {
          const te::OperandRole role = e->intrinsic->operands[i];
          if (role == te::OperandRole::kWrite || role == te::OperandRole::kUpdate)
            piece->written.insert(e->operands[i]->buffer.get());
        }
      });
    });
  });
  piece->touched.insert(piece->written.begin(), piece->written.end());
}

class Collector {
 public:
  explicit Collector(const ir::StmtNode& loop) : loop_(loop) { Collect(loop_.body()); }
  PipelineParts parts_;

 private:
  void Collect(const Stmt& stmt) {
    if (stmt == nullptr) return;
    if (ir::IsAnnotation(*stmt, ir::kPipelinePiece) && ir::FactsOf(*stmt)[0].Same(loop_.var)) {
      PipelinePiece piece{.conditions = conditions_, .body = stmt->body()};
      te::IsConstInt(ir::FactsOf(*stmt)[1], &piece.step);
      te::IsConstInt(ir::FactsOf(*stmt)[2], &piece.order);
      FindBuffers(&piece);
      parts_.pieces.push_back(std::move(piece));
      return;
    }
    switch (stmt->kind) {
      case StmtKind::kAllocate:
      case StmtKind::kAttribute:
        parts_.wrappers.push_back(stmt);
        Collect(stmt->body());
        return;
      case StmtKind::kIf:
        conditions_.push_back(stmt->condition);
        Collect(stmt->then_case);
        conditions_.back() = Not(stmt->condition);
        Collect(stmt->else_case);
        conditions_.pop_back();
        return;
      case StmtKind::kSeq:
        for (const Stmt& child : stmt->stmts) Collect(child);
        return;
      default:
        parts_.bare = true;
    }
  }

  const ir::StmtNode& loop_;
  std::vector<Expr> conditions_;
};

}  // namespace

PipelineParts PartsOf(const ir::StmtNode& loop) { return std::move(Collector(loop).parts_); }

absl::StatusOr<CopyCounts> CopiesNeeded(const ir::StmtNode& loop, const PipelineParts& parts) {
  CopyCounts counts;
  for (const Stmt& wrapper : parts.wrappers) {
    if (wrapper->kind != StmtKind::kAllocate) continue;
    const ir::Buffer& buffer = wrapper->buffer;
    const PipelinePiece* writer = nullptr;
    for (const PipelinePiece& piece : parts.pieces) {
      if (!piece.written.contains(buffer.get())) continue;
      if (writer != nullptr && writer->step != piece.step)
        return absl::InvalidArgumentError(
            absl::StrCat("loop `", loop.var->name, "`: two steps of its pipeline store `", buffer->name, "`"));
      writer = &piece;
    }
    int64_t copies = 1;
    for (const PipelinePiece& piece : parts.pieces) {
      if (!piece.touched.contains(buffer.get()) || writer == nullptr || piece.written.contains(buffer.get())) continue;
      if (piece.step < writer->step || (piece.step == writer->step && piece.order < writer->order))
        return absl::InvalidArgumentError(
            absl::StrCat("loop `", loop.var->name, "`: in its pipeline `", buffer->name, "` would be read before it ",
                         "is stored; give its readers a later step, or a later place in the order"));
      copies = std::max(copies, piece.step - writer->step + 1);
    }
    if (copies > 1) counts[buffer.get()] = copies;
  }
  return counts;
}

}  // namespace smelt::kernels::lower
